// React hooks for a TidemarkClient. Each hook follows one value of the client with
// useSyncExternalStore: a component renders again when its own value has changed. On a server it
// renders as before the first snapshot.

import { createContext, createElement, useCallback, useContext, useSyncExternalStore } from 'react';
import { Inbox } from '../src/index.js';

const Context = createContext(/** @type {import('../src/index.js').TidemarkClient | null} */ (null));
const NOTHING = new Inbox();

/** Provides a client to the hooks below it. The owner of the client connects and closes it.
 * @param {{client: import('../src/index.js').TidemarkClient, children?: import('react').ReactNode}} props */
export function TidemarkProvider({ client, children }) {
  return createElement(Context.Provider, { value: client }, children);
}

/** The client of the nearest provider. */
export function useTidemark() {
  const client = useContext(Context);
  if (!client) throw new Error('there is no <TidemarkProvider client={…}> above this component');
  return client;
}

/** The number for a launcher icon; `undefined` until it is known: show no zero then. */
export function useBadge() {
  const { badge } = useTidemark();
  return useSyncExternalStore(badge.listen, () => badge.value, () => undefined);
}

/** The user's inbox: `inbox.known` is false until the first snapshot. */
export function useInbox() {
  const { inbox } = useTidemark();
  return useSyncExternalStore(inbox.listen, () => inbox.value, () => NOTHING);
}

/** What the user sees of one channel; `undefined` until it is known, and for a channel that the
 * user is not in.
 * @param {string} channelId */
export function useUnread(channelId) {
  const { inbox } = useTidemark();
  const read = useCallback(() => inbox.value.channels.get(channelId), [inbox, channelId]);
  return useSyncExternalStore(inbox.listen, read, () => undefined);
}

/** What the user sees of one thread that they follow.
 * @param {string} channelId
 * @param {string} threadId */
export function useThreadUnread(channelId, threadId) {
  const { inbox } = useTidemark();
  const read = useCallback(() => inbox.value.threads.get(`${channelId}\0${threadId}`), [inbox, channelId, threadId]);
  return useSyncExternalStore(inbox.listen, read, () => undefined);
}

/** The state of the connection: unless it is `open`, the numbers are old. */
export function useConnectionState() {
  const { state } = useTidemark();
  return useSyncExternalStore(state.listen, () => state.value, () => 'closed');
}
