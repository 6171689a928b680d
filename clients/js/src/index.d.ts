/** Times are RFC 3339, seqs and counts are numbers. Frames and fields are those of docs/gateway.md. */

export interface MessageRef { message_id?: string; seq: number }
export interface LastRead extends MessageRef { at?: string }
export interface Latest extends MessageRef { at?: string; sender_id?: string; preview?: string }

/** How a channel enters the badge: with its unread messages, with its mentions, or not at all. */
export type Level = 'ALL' | 'MENTIONS' | 'NONE';

/** What the user sees of one channel. */
export interface ChannelUnread {
  channel_id: string;
  /** False in an update: the user has left, or the channel was deleted. */
  member?: boolean;
  unread: number;
  mentions: number;
  offline_unread?: number;
  first_unread?: MessageRef | null;
  last_read?: LastRead | null;
  latest?: Latest | null;
  /** The level is NONE. */
  muted?: boolean;
  read_epoch?: number;
  /** Missing: ALL. */
  level?: Level;
  /** When `level_after` takes effect. The gateway sends an update then. */
  until?: string;
  level_after?: Level;
  ignore_mention_all?: boolean;
  /** Those of `mentions` that name the user. */
  direct_mentions?: number;
  first_mention?: Partial<MessageRef> | null;
  /** Marked unread by the user, whatever `unread` is. */
  flagged?: boolean;
  /** Listed separately and in no total; `filed` means that the user archived it. */
  archived?: boolean;
  filed?: { keep: boolean } | null;
  /** The user's own line. */
  line?: Partial<MessageRef> | null;
  /** Labels of the channel and of the user; `own_labels` are the user's alone. */
  labels?: string[];
  own_labels?: string[];
  stamp?: string;
}

/** What the user sees of one thread that they follow. */
export interface ThreadUnread {
  channel_id: string;
  thread_id: string;
  /** False in an update: the user no longer follows the thread. */
  followed?: boolean;
  unread: number;
  mentions: number;
  first_unread?: MessageRef | null;
  last_read?: LastRead | null;
  last_reply?: Latest | null;
  read_epoch?: number;
  direct_mentions?: number;
  first_mention?: Partial<MessageRef> | null;
  stamp?: string;
}

/** Channels of level NONE and archived ones are left out, with their threads. */
export interface Totals {
  unread: number;
  mentions: number;
  unread_channels: number;
  thread_unread: number;
  thread_mentions: number;
  unread_threads?: number;
  /** The number for a launcher icon. */
  badge?: number;
  /** Channels with a flag, including muted ones. */
  flagged?: number;
  archived?: { unread_channels: number; mentions: number };
  /** The time at which these were computed, if a level among them ends at some time. */
  evaluated_at?: string;
}

export interface Frame { type: string; id?: string; [field: string]: unknown }
export interface Hello extends Frame { type: 'hello'; user_id: string; instance_id: string; request_id?: string; limits?: Record<string, number> }
export interface MessageNew extends Frame {
  type: 'message.new'; channel_id: string; message_id: string; seq: number; sender_id?: string; preview?: string; at: string; thread_id?: string;
}
export interface ReadPointerUpdated extends Frame {
  type: 'read_pointer.updated'; channel_id: string; last_read_id?: string; last_read_at?: string;
}
export interface Reader { user_id: string; message_id?: string; seq: number; at?: string; with_threads?: boolean }
export interface Receipt extends Frame { type: 'receipt.read' | 'receipt.delivered' | 'receipt.viewed'; channel_id: string; readers: Reader[] }
export interface ReadState extends Frame { type: 'read_state'; channel_id: string; readers: Reader[] }
/** `after` names the records that the command wrote: queries with it include them. */
export interface Ack extends Frame { type: 'ack'; id: string; after: string[] }
/** From the client itself: the connection has ended, and the next one starts in so many
 * milliseconds. */
export interface Disconnected extends Frame { type: 'disconnected'; code: number; reason: string; retry_in: number }

export interface Frames {
  hello: Hello;
  inbox: Frame & { channels: ChannelUnread[]; threads?: ThreadUnread[]; totals: Totals };
  'unread.updated': Frame & (ChannelUnread | ThreadUnread) & { totals?: Totals };
  'message.new': MessageNew;
  'read_pointer.updated': ReadPointerUpdated;
  'receipt.read': Receipt;
  'receipt.delivered': Receipt;
  'receipt.viewed': Receipt;
  read_state: ReadState;
  ack: Ack;
  error: Frame & { code: string; message: string };
  disconnected: Disconnected;
  '*': Frame;
}

/** `open` after the gateway's hello; `waiting` between two attempts. */
export type ConnectionState = 'closed' | 'connecting' | 'open' | 'waiting';

/** The part of a WebSocket that the client needs. */
export interface SocketLike {
  readonly readyState: number;
  onmessage: ((e: { data: unknown }) => void) | null;
  onclose: ((e: { code?: number; reason?: string }) => void) | null;
  onerror: ((e: unknown) => void) | null;
  send(data: string): void;
  close(code?: number, reason?: string): void;
}

export interface ClientOptions {
  /** Of the gateway, absolute or relative to the page; default `/v1/socket`. */
  url?: string;
  /** A user token, or a function that returns one; it is called before each connection. It is sent
   * in the subprotocol, never in the URL. */
  token?: string | (() => string | Promise<string>);
  /** The user, at a node without keys such as `tidemark dev`. */
  userId?: string;
  backoff?: { min?: number; max?: number; random?: () => number };
  /** Milliseconds after which a command without an answer fails (30,000). */
  commandTimeout?: number;
  /** Milliseconds of silence after which the client pings the gateway (60,000), and within which
   * the gateway must answer (10,000). */
  quietTimeout?: number;
  answerTimeout?: number;
  /** Commands that may wait for an answer at the same time (1,000). */
  maxPending?: number;
  /** For runtimes without WebSocket. */
  WebSocket?: new (url: string, protocols?: string[]) => SocketLike;
  /** The page whose visibility the client follows: default `document` if there is one; null: none. */
  page?: Pick<Document, 'visibilityState' | 'addEventListener' | 'removeEventListener'> | null;
}

/** K is the type that listeners get: `undefined` means that the value is not known yet, and
 * listeners are not called with it. */
export declare class Observable<T, K = T> {
  constructor(value: T);
  readonly value: T;
  subscribe: (fn: (value: K) => void) => () => void;
  listen: (fn: (value: K) => void) => () => void;
  set(value: T): void;
}

export declare class Inbox {
  readonly channels: ReadonlyMap<string, ChannelUnread>;
  /** By `channel_id + "\0" + thread_id`. */
  readonly threads: ReadonlyMap<string, ThreadUnread>;
  readonly totals: Totals;
  /** False until the first snapshot: then a missing count is not zero. */
  readonly known: boolean;
  /** `undefined` until the first snapshot. */
  readonly badge: number | undefined;
  /** Without archived ones. */
  readonly sorted: ChannelUnread[];
  readonly archived: ChannelUnread[];
  byLabel(now?: number): Map<string, ReturnType<typeof totalsOf>>;
  static of(frame: { channels?: ChannelUnread[]; threads?: ThreadUnread[]; totals?: Totals }): Inbox;
  with(update: (ChannelUnread | ThreadUnread) & { totals?: Totals }): Inbox;
}

export declare class TidemarkClient {
  constructor(options?: ClientOptions);
  readonly state: Observable<ConnectionState>;
  readonly inbox: Observable<Inbox>;
  /** `undefined` until the first snapshot; listeners are called from then on. */
  readonly badge: Observable<number | undefined, number>;
  readonly userId: string;
  readonly instanceId: string;
  /** Throws a TidemarkError `unsupported` where there is no WebSocket. */
  connect(): void;
  close(): void;
  on<K extends keyof Frames>(type: K, fn: (frame: Frames[K]) => void): () => void;
  focus(channelId: string, threadId?: string): void;
  blur(channelId: string, threadId?: string): void;
  markRead(channelId: string, messageId: string, options?: { threadId?: string; private?: boolean; withThreads?: boolean }): Promise<Ack>;
  /** Rejects with the error of the first command that fails. */
  markAllRead(options?: { label?: string; threads?: boolean }): Promise<Ack[]>;
  markUnread(channelId: string, messageId: string, options?: { threadId?: string; headSeq?: number }): Promise<Ack>;
  messagesRead(channelId: string, messageIds: string[]): Promise<Ack>;
  followThread(channelId: string, threadId: string): Promise<Ack>;
  unfollowThread(channelId: string, threadId: string): Promise<Ack>;
  mute(channelId: string, muted: boolean): Promise<Ack>;
  notify(channelId: string, level: Level, options?: { until?: Date; ignoreMentionAll?: boolean }): Promise<Ack>;
  flag(channelId: string, flagged: boolean, options?: { headSeq?: number }): Promise<Ack>;
  file(channelId: string, archived: boolean, options?: { keep?: boolean; headSeq?: number }): Promise<Ack>;
  hide(channelId: string, messageIds: string[]): Promise<Ack>;
  hideUpTo(channelId: string, seq: number): Promise<Ack>;
  viewed(channelId: string, messageIds: string[]): Promise<Ack>;
  setLine(channelId: string, at: string | number): Promise<Ack>;
  setLabels(channelId: string, labels: string[]): Promise<Ack>;
  readState(channelId: string): Promise<ReadState>;
  sync(shown?: number): Promise<Frame>;
  send(frame: Frame): Promise<any>;
}

export declare class TidemarkError extends Error { constructor(code: string, message: string); readonly code: string }

export declare class Backoff {
  constructor(options?: { min?: number; max?: number; random?: () => number });
  /** `bound`: the least bound of the wait, as far as `max` allows. */
  next(bound?: number): number;
  reset(): void;
}

export declare function levelAt(channel: ChannelUnread, now?: number): Level;
export declare function totalsOf(channels: Iterable<ChannelUnread>, threads: Iterable<ThreadUnread>, options?: { now?: number; label?: string }):
  Required<Omit<Totals, 'evaluated_at'>>;
export declare function byActivity(a: ChannelUnread, b: ChannelUnread): number;
export declare function dominates(a: string, b: string): boolean;
export declare function parseStamp(text: string): readonly [number, number, number, number];
