/** A client for servers: it publishes events to a node and reads from it, with fetch. Fields are
 * those of docs/events.md and docs/query-api.md. */
import type { ChannelUnread, Latest, Level, MessageRef, ThreadUnread, TidemarkError, Totals } from '../src/index.js';

export interface TidemarkOptions {
  /** Of any node with the role query; default http://127.0.0.1:8080. */
  url?: string;
  /** A bearer token, or a function that returns one; it is called before each request. */
  token?: string | (() => string | Promise<string>);
  /** Attempts of a read, in total (5). Writes have one attempt. */
  tries?: number;
  /** Milliseconds of each attempt (15,000). */
  timeout?: number;
  /** Milliseconds without data after which a watch leaves its stream and reconnects (60,000): a node sends a heartbeat after 25 s. */
  quietTimeout?: number;
  fetch?: typeof globalThis.fetch;
}

export interface MessagePosted {
  message_id: string; sender_id?: string; preview?: string; thread_id?: string; broadcast?: boolean; silent?: boolean;
  mentions?: string[]; mention_all?: boolean; member_count?: number; hidden_from?: string[]; marks_read?: boolean;
}
export interface ReadUpTo {
  message_id?: string; seq?: number; time?: string; thread_id?: string; read_epoch?: number; private?: boolean; with_threads?: boolean;
}
export interface MarkedUnread { message_id?: string; thread_id?: string; head_message_id?: string; head_seq?: number; seq?: number }

interface Head { channel_id: string; occurred_at?: string }
/** One kind each: docs/events.md has every kind and its fields. */
export type Event =
  | { message: Head & ({ message_posted: MessagePosted } | { [kind: string]: unknown }) }
  | { read: Head & { user_id: string; instance_id?: string } & ({ read_up_to: ReadUpTo } | { marked_unread: MarkedUnread } | { [kind: string]: unknown }) }
  | { delivery: Head & { user_id: string } & { [kind: string]: unknown } };

export interface Page { page_size?: number; page_token?: string; after?: string[] }
export interface InboxPage {
  channels: ChannelUnread[]; totals: Totals; totals_by_label: Record<string, Totals>; next_page_token: string; as_of: string[]; evaluated_at: string;
}
export interface ThreadsPage { threads: ThreadUnread[]; totals: Totals; next_page_token: string; as_of: string[] }
export interface Explanation {
  unread: number; message_ids: string[]; more: boolean; unnamed: number; excluded: Record<string, number>;
  pointer?: MessageRef & { at?: string; event?: string }; as_of: string[];
}
export interface Channel { channel_id: string; head_seq: number; member_count: number; large: boolean; latest?: Latest; labels: string[]; archived: boolean; as_of: string[] }
export interface Receipts {
  channel_id: string; message_id: string; seq: number; status: string; recipient_count: number; read_count: number; delivered_count: number;
  recipients: { user_id: string; status: string; delivered_at?: string; read_at?: string; viewed_at?: string }[]; next_page_token: string; as_of: string[];
}
export interface Readers { readers: { user_id: string; message_id?: string; seq: number; at?: string }[]; next_page_token: string; as_of: string[] }
export interface WatchEvent {
  snapshot?: { channels: ChannelUnread[]; threads: ThreadUnread[]; totals: Totals; totals_by_label: Record<string, Totals>; next_page_token: string };
  update?: { channel?: ChannelUnread; thread?: ThreadUnread; totals: Totals; totals_by_label: Record<string, Totals> };
  as_of?: string[];
}

/** An error that a node answered, or a call without an answer. */
export declare class CallError extends TidemarkError {
  constructor(code: string, message: string, more?: { retryAfter?: number; requestId?: string });
  /** Seconds, if the node named a time. */
  readonly retryAfter: number | undefined;
  /** The id of the call in the node's log. */
  readonly requestId: string;
  /** Whether the same call may work later without a change. */
  readonly temporary: boolean;
  static of(status: number, headers: Headers, body: string): CallError;
}

export declare function latestTokens(tokens?: Iterable<string>): string[];

export declare class Tidemark {
  constructor(options?: TidemarkOptions);
  readonly url: string;
  publish(...events: Event[]): Promise<string[]>;
  post(channelId: string, message: MessagePosted): Promise<string[]>;
  join(channelId: string, ...userIds: string[]): Promise<string[]>;
  leave(channelId: string, ...userIds: string[]): Promise<string[]>;
  read(userId: string, channelId: string, to: ReadUpTo): Promise<string[]>;
  markUnread(userId: string, channelId: string, mark: MarkedUnread): Promise<string[]>;
  markAllRead(userId: string, what?: { label?: string; threads?: boolean; instance_id?: string; after?: string[] }): Promise<string[]>;
  unread(userId: string, channelId: string, options?: { after?: string[] }): Promise<ChannelUnread & { as_of: string[] }>;
  inbox(userId: string, options?: Page & { unread_only?: boolean; label?: string; archived?: 'without' | 'only' | 'all' }): Promise<InboxPage>;
  threads(userId: string, options?: Page & { any_age?: boolean }): Promise<ThreadsPage>;
  explain(userId: string, channelId: string, options?: { thread_id?: string; after?: string[] }): Promise<Explanation>;
  channel(channelId: string, options?: { after?: string[] }): Promise<Channel>;
  receipts(channelId: string, messageId: string, options?: Page): Promise<Receipts>;
  readers(channelId: string, options?: Page): Promise<Readers>;
  query(method: string, request: Record<string, any>): Promise<any>;
  watch(userId: string, options?: { after?: string[]; signal?: AbortSignal }): AsyncGenerator<WatchEvent, void, undefined>;
}

export type { ChannelUnread, Level, ThreadUnread, Totals };
