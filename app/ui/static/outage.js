// Why a device is not connected, in words: from the close code of its connection, and from the
// node's own state. Also what a connected device learns from no frame.

import { readiness } from '/ui/api.js';

const ways = {
  1012: 'The node stops, or is being restarted.',
  1013: 'The inbox cannot be read: a partition that it needs is not served now.',
  4401: 'The token is not valid, or has expired.',
  4408: 'This device was too slow to receive its updates, and connects again.',
  4429: 'Too many connections or commands at once: this device waits longer before it connects again.',
};

/** The largest number of characters of the node's own message: the operators' view shows all of
 * it. */
const MOST = 240;

const short = (text) => (text.length > MOST ? `${text.slice(0, MOST)} …` : text);

/** The words for a `disconnected` frame of the client; empty if it gives no reason. */
const said = ({ code, reason }) => ways[code] ?? (code === 0 ? `No connection can be made: ${reason}` : '');

/** Reports why a connection has ended: at once what the frame says, unless the device already
 * shows a reason, and again with the node's own state. Browsers do not expose why a connection
 * was refused, so the node is asked. */
export async function explainOutage(frame, told, tell) {
  const closed = said(frame);
  if (!told) tell(closed || 'The connection has ended.', '');
  const own = frame.code === 4401 || frame.code === 4429; // not the fault of the node
  const { reached, ready, wrong } = own ? { reached: true, ready: true, wrong: '' } : await readiness();
  if (!reached) tell('The node does not answer: it is down, or is being restarted.', '');
  else tell(closed || (ready ? 'The connection has ended.' : 'The node answers, but is not ready.'), short(wrong));
}

/** The interval, in milliseconds, at which the node is asked whether all of its partitions are
 * served. */
const LOOK = 5000;

/** Reports the node's message about a partition that is not served, or '' if all are, while a
 * device is connected and the page is visible: no frame tells connected devices, they just get
 * no updates of its channels. */
export function watchPartitions(connected, tell) {
  setTimeout(async () => {
    if (connected() && document.visibilityState === 'visible') {
      const { reached, stopped } = await readiness();
      if (reached && connected()) tell(short(stopped));
    }
    watchPartitions(connected, tell);
  }, LOOK);
}
