// Runs in a project that installed the package, with the socket's address of a node: see
// package_test.go. Ann has one unread message, and reads it.

import { TidemarkClient } from '@tidemark/client';

const client = new TidemarkClient({ url: process.argv[2], userId: 'ann' });
client.badge.subscribe((n) => {
  console.log(n);
  if (n) client.markRead('lunch', 'm1');
  else client.close();
});
client.connect();
