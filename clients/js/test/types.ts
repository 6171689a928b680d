// Compiled, never run: what a TypeScript program may write, and what it may not.
import { TidemarkClient, TidemarkError, type ChannelUnread } from '../src/index.js';

const client = new TidemarkClient({ url: 'wss://chat.example/v1/socket', token: async () => 'header.payload.signature' });
const stop: () => void = client.badge.subscribe((n: number) => console.log(n));
client.on('message.new', (m) => console.log(m.seq + 1, m.preview?.length));
client.on('unread.updated', (u) => console.log(u.unread));
client.inbox.subscribe((inbox) => {
  const first: ChannelUnread | undefined = inbox.sorted[0];
  console.log(first?.unread ?? 'nothing', inbox.totals.mentions);
});
client.markRead('general', 'm1', { private: true }).then((ack) => console.log(ack.after.join()));
client.readState('general').catch((err: unknown) => console.log(err instanceof TidemarkError ? err.code : err));
// @ts-expect-error a channel is not a number
client.focus(7);
// @ts-expect-error there is no such frame
client.on('message.old', () => {});
stop();
