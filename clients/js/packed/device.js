// Runs in a project that installed the package, with the socket's address of a node: see
// package_test.go. Ann has one unread message, and reads it.

import { TidemarkClient } from '@tidemark/client';

const client = new TidemarkClient({ url: process.argv[2], userId: 'ann' });
let read;
client.badge.subscribe(async (n) => {
  console.log(n);
  if (n) {
    read = client.markRead('lunch', 'm1');
    return;
  }
  await read; // the new count may come before the answer, and closing fails what has none
  client.close();
});
client.connect();
