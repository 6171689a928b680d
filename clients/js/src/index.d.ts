/** Times are RFC 3339, seqs and counts are numbers. Frames and fields are those of docs/gateway.md. */

export interface MessageRef { message_id?: string; seq: number }
export interface LastRead extends MessageRef { at?: string }
export interface Latest extends MessageRef { at?: string; sender_id?: string; preview?: string }

/** What the user sees of one channel. */
export interface ChannelUnread {
  channel_id: string;
  /** False in an update: the user has left, or the channel is gone. */
  member?: boolean;
  unread: number;
  mentions: number;
  offline_unread?: number;
  first_unread?: MessageRef | null;
  last_read?: LastRead | null;
  latest?: Latest | null;
  muted?: boolean;
  read_epoch?: number;
  stamp?: string;
}

/** What the user sees of one thread that he follows. */
export interface ThreadUnread {
  channel_id: string;
  thread_id: string;
  /** False in an update: it is not followed any more. */
  followed?: boolean;
  unread: number;
  mentions: number;
  first_unread?: MessageRef | null;
  last_read?: LastRead | null;
  last_reply?: Latest | null;
  read_epoch?: number;
  stamp?: string;
}

/** Muted channels and their threads are left out. */
export interface Totals {
  unread: number;
  mentions: number;
  unread_channels: number;
  thread_unread: number;
  thread_mentions: number;
}

export interface Frame { type: string; id?: string; [field: string]: unknown }
export interface Hello extends Frame { type: 'hello'; user_id: string; instance_id: string; limits?: Record<string, number> }
export interface MessageNew extends Frame {
  type: 'message.new'; channel_id: string; message_id: string; seq: number; sender_id?: string; preview?: string; at: string; thread_id?: string;
}
export interface ReadPointerUpdated extends Frame {
  type: 'read_pointer.updated'; channel_id: string; last_read_id?: string; last_read_at?: string;
}
export interface Reader { user_id: string; message_id?: string; seq: number; at?: string }
export interface Receipt extends Frame { type: 'receipt.read' | 'receipt.delivered'; channel_id: string; readers: Reader[] }
export interface ReadState extends Frame { type: 'read_state'; channel_id: string; readers: Reader[] }
/** `after` names the records that the command became: queries with it include them. */
export interface Ack extends Frame { type: 'ack'; id: string; after: string[] }
/** From the client itself: the connection has ended, and there will be another in so many milliseconds. */
export interface Disconnected extends Frame { type: 'disconnected'; code: number; reason: string; retry_in: number }

export interface Frames {
  hello: Hello;
  inbox: Frame & { channels: ChannelUnread[]; threads?: ThreadUnread[]; totals: Totals };
  'unread.updated': Frame & (ChannelUnread | ThreadUnread) & { totals?: Totals };
  'message.new': MessageNew;
  'read_pointer.updated': ReadPointerUpdated;
  'receipt.read': Receipt;
  'receipt.delivered': Receipt;
  read_state: ReadState;
  ack: Ack;
  error: Frame & { code: string; message: string };
  disconnected: Disconnected;
  '*': Frame;
}

/** `open` once the gateway has said who we are; `waiting` between two tries. */
export type ConnectionState = 'closed' | 'connecting' | 'open' | 'waiting';

/** As much of a WebSocket as the client needs. */
export interface SocketLike {
  readonly readyState: number;
  onmessage: ((e: { data: unknown }) => void) | null;
  onclose: ((e: { code?: number; reason?: string }) => void) | null;
  onerror: ((e: unknown) => void) | null;
  send(data: string): void;
  close(code?: number, reason?: string): void;
}

export interface ClientOptions {
  /** Of the gateway, absolute or relative to the page; `/v1/socket` if not said. */
  url?: string;
  /** A user token, or what gives one; asked for each connection. It goes into the subprotocol, never into the URL. */
  token?: string | (() => string | Promise<string>);
  /** Names the user at a node without keys, such as `tidemark dev`. */
  userId?: string;
  backoff?: { min?: number; max?: number; random?: () => number };
  /** Milliseconds until a command without an answer fails (30,000). */
  commandTimeout?: number;
  /** Milliseconds of silence after which the gateway is asked whether it is there (60,000), and how long it may take to answer (10,000). */
  quietTimeout?: number;
  answerTimeout?: number;
  /** Commands that may wait for an answer at once (1,000). */
  maxPending?: number;
  /** For runtimes without one. */
  WebSocket?: new (url: string, protocols?: string[]) => SocketLike;
  /** The page whose visibility is followed: `document` if there is one; null: none. */
  page?: Pick<Document, 'visibilityState' | 'addEventListener' | 'removeEventListener'> | null;
}

export declare class Observable<T> {
  constructor(value: T);
  readonly value: T;
  subscribe: (fn: (value: T) => void) => () => void;
  listen: (fn: (value: T) => void) => () => void;
  set(value: T): void;
}

export declare class Inbox {
  readonly channels: ReadonlyMap<string, ChannelUnread>;
  /** By `channel_id + "\0" + thread_id`. */
  readonly threads: ReadonlyMap<string, ThreadUnread>;
  readonly totals: Totals;
  /** False until a snapshot has come: then no count is a zero. */
  readonly known: boolean;
  readonly badge: number;
  readonly sorted: ChannelUnread[];
  static of(frame: { channels?: ChannelUnread[]; threads?: ThreadUnread[]; totals?: Totals }): Inbox;
  with(update: (ChannelUnread | ThreadUnread) & { totals?: Totals }): Inbox;
}

export declare class TidemarkClient {
  constructor(options?: ClientOptions);
  readonly state: Observable<ConnectionState>;
  readonly inbox: Observable<Inbox>;
  readonly badge: Observable<number>;
  readonly userId: string;
  readonly instanceId: string;
  connect(): void;
  close(): void;
  on<K extends keyof Frames>(type: K, fn: (frame: Frames[K]) => void): () => void;
  focus(channelId: string, threadId?: string): void;
  blur(channelId: string, threadId?: string): void;
  markRead(channelId: string, messageId: string, options?: { threadId?: string; private?: boolean }): Promise<Ack>;
  markUnread(channelId: string, messageId: string, options?: { threadId?: string; headSeq?: number }): Promise<Ack>;
  messagesRead(channelId: string, messageIds: string[]): Promise<Ack>;
  followThread(channelId: string, threadId: string): Promise<Ack>;
  unfollowThread(channelId: string, threadId: string): Promise<Ack>;
  mute(channelId: string, muted: boolean): Promise<Ack>;
  readState(channelId: string): Promise<ReadState>;
  sync(): Promise<Frame>;
  send(frame: Frame): Promise<any>;
}

export declare class TidemarkError extends Error { constructor(code: string, message: string); readonly code: string }

export declare class Backoff {
  constructor(options?: { min?: number; max?: number; random?: () => number });
  /** `bound`: at least so much, as far as `max` allows. */
  next(bound?: number): number;
  reset(): void;
}

export declare function byActivity(a: ChannelUnread, b: ChannelUnread): number;
export declare function dominates(a: string, b: string): boolean;
export declare function parseStamp(text: string): readonly [number, number, number, number];
