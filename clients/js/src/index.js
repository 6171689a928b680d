// The client of a Tidemark gateway: one socket per device, live badges, read pointers and receipts.
// No dependencies, no build step: browsers and Node (from 22, or with a WebSocket constructor of
// yours) load this file as it is.

export { TidemarkClient } from './client.js';
export { TidemarkError } from './error.js';
export { Backoff } from './backoff.js';
export { Inbox, byActivity } from './inbox.js';
export { Observable } from './observable.js';
export { levelAt, totalsOf } from './totals.js';
export { dominates, parseStamp } from './stamp.js';
