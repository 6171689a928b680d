import type { ReactElement, ReactNode } from 'react';
import type { ChannelUnread, ConnectionState, Inbox, ThreadUnread, TidemarkClient } from '../src/index.js';

/** Provides a client to the hooks below it. The owner of the client connects and closes it. */
export declare function TidemarkProvider(props: { client: TidemarkClient; children?: ReactNode }): ReactElement;
/** The client of the nearest provider. Throws without one. */
export declare function useTidemark(): TidemarkClient;
/** The number for a launcher icon; `undefined` until it is known: show no zero then. */
export declare function useBadge(): number | undefined;
/** The user's inbox: `known` is false until the first snapshot. */
export declare function useInbox(): Inbox;
/** What the user sees of one channel; `undefined` until it is known, and for a channel that the user is not in. */
export declare function useUnread(channelId: string): ChannelUnread | undefined;
export declare function useThreadUnread(channelId: string, threadId: string): ThreadUnread | undefined;
/** Unless it is `open`, the numbers are old. */
export declare function useConnectionState(): ConnectionState;
