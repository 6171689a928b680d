// Is compiled in a project that installed the package: see package_test.go.

import { TidemarkClient } from '@tidemark/client';
import { useBadge, useUnread } from '@tidemark/client/react';
import { CallError, Tidemark } from '@tidemark/client/server';

const client = new TidemarkClient({ url: 'wss://chat.example/v1/socket', userId: 'ann' });
const stop: () => void = client.badge.subscribe((n: number) => n.toFixed());
// @ts-expect-error: a badge that is not known yet is no number
const badge: number = client.badge.value;

export const drawn: [number | undefined, number | undefined] = [useBadge(), useUnread('general')?.unread];

export async function unread(tidemark: Tidemark): Promise<number> {
  try {
    return (await tidemark.unread('ann', 'general')).unread;
  } catch (e) {
    if (e instanceof CallError && e.retryAfter) stop();
    return badge;
  }
}
