import type { ReactElement, ReactNode } from 'react';
import type { ChannelUnread, ConnectionState, Inbox, ThreadUnread, TidemarkClient } from '../src/index.js';

/** Gives a client to the hooks below it. Whoever made the client connects and closes it. */
export declare function TidemarkProvider(props: { client: TidemarkClient; children?: ReactNode }): ReactElement;
/** The client of the nearest provider. Throws without one. */
export declare function useTidemark(): TidemarkClient;
/** The number for a launcher icon; `undefined` until it is known: draw no zero then. */
export declare function useBadge(): number | undefined;
/** All that is known: `known` is false until a snapshot has come. */
export declare function useInbox(): Inbox;
/** What the user sees of one channel; `undefined` until it is known, and for a channel that the user is not in. */
export declare function useUnread(channelId: string): ChannelUnread | undefined;
export declare function useThreadUnread(channelId: string, threadId: string): ThreadUnread | undefined;
/** While it is not `open`, the numbers are old. */
export declare function useConnectionState(): ConnectionState;
