// Why a device is not connected, in words: what the close of its connection says, and what the node says of itself. And what
// a device that is connected is not told.

import { readiness } from '/ui/api.js';

const ways = {
  1012: 'The node stops, or is restarted.',
  1013: 'The inbox cannot be read: a part of what it is made of is not served now.',
  4401: 'The token is not valid, or has expired.',
  4408: 'This device did not take what was sent to it, and begins anew.',
  4429: 'There were too many connections or commands at once: it waits a little longer.',
};

/** How many characters of the node's own words are shown: the operators' view has all of them. */
const MOST = 240;

const short = (text) => (text.length > MOST ? `${text.slice(0, MOST)} …` : text);

/** The words for a `disconnected` frame of the client, as far as it says why; empty: it does not. */
const said = ({ code, reason }) => ways[code] ?? (code === 0 ? `No connection can be made: ${reason}` : '');

/** Tells why a connection has ended, and what the node says of itself: at once, as far as that is known, unless the device was
 * told already, and again when the node was asked. A browser is not told why it may not connect: that is found out by asking. */
export async function explainOutage(frame, told, tell) {
  const closed = said(frame);
  if (!told) tell(closed || 'The connection has ended.', '');
  const own = frame.code === 4401 || frame.code === 4429; // not the node's doing
  const { reached, ready, wrong } = own ? { reached: true, ready: true, wrong: '' } : await readiness();
  if (!reached) tell('The node does not answer: it is away, or is being restarted.', '');
  else tell(closed || (ready ? 'The connection has ended.' : 'The node is there, and not ready.'), short(wrong));
}

/** How often the node is asked whether all of its partitions are served, in milliseconds. */
const LOOK = 5000;

/** Tells the node's words for a partition that is not served, or '' if all are, for as long as a device is connected and somebody
 * looks: no frame says so to those who are connected, they just hear nothing of the channels there. */
export function watchPartitions(connected, tell) {
  setTimeout(async () => {
    if (connected() && document.visibilityState === 'visible') {
      const { reached, stopped } = await readiness();
      if (reached && connected()) tell(short(stopped));
    }
    watchPartitions(connected, tell);
  }, LOOK);
}
