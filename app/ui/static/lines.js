// The result of `tidemark compare`, read from its output: lines of JSON (--json), or the metrics of
// --follow.

/** The buckets, in reading order. */
export const buckets = {
  equal: ['equal', 'both sides have the same number'],
  policy: ['policy', 'they count something else by intention'],
  theirs_wrong: ['theirs wrong', 'what they store is not true by their own rows'],
  ours_wrong: ['ours wrong', 'Tidemark\'s number is wrong, or an input is missing'],
  not_comparable: ['not comparable', 'one side cannot have the pair'],
  moved: ['moved', 'it changed between all readings'],
};

/** The largest number of differing lines in the list; all are counted. */
export const KEPT = 20_000;

/** A result: counts by bucket and by reason, and the first lines that differ. */
export class Found {
  name = '';
  total = 0;
  counts = Object.fromEntries(Object.keys(buckets).map((b) => [b, 0]));
  reasons = new Map(); // by bucket and reason without its numbers: {bucket, reason, n}
  lines = [];
  dropped = 0; // differing lines that are not kept
  unread = 0; // lines that do not belong to a comparison
  metrics = false;

  /** Adds a line of text. */
  take(text) {
    const line = text.trim();
    if (!line) return;
    if (line.startsWith('{')) this.#json(line);
    else this.#metric(line);
  }

  #json(text) {
    let x;
    try {
      x = JSON.parse(text);
    } catch {
      this.unread++;
      return;
    }
    if (!Object.hasOwn(buckets, x.bucket ?? '') || typeof x.user_id !== 'string' || typeof x.channel_id !== 'string' || !x.theirs || !x.ours) {
      this.unread++;
      return;
    }
    this.total++;
    this.counts[x.bucket]++;
    if (x.bucket === 'equal') return;
    const reason = String(x.reason ?? '').replace(/\d+/g, 'n');
    const key = `${x.bucket}\0${reason}`;
    if (!this.reasons.has(key) && this.reasons.size < 1000) this.reasons.set(key, { bucket: x.bucket, reason, n: 0 });
    const r = this.reasons.get(key);
    if (r) r.n++;
    if (this.lines.length < KEPT) this.lines.push(x);
    else this.dropped++;
  }

  /** Adds `tidemark_compare_pairs{bucket="…"} 12`: the last round of --follow. */
  #metric(text) {
    const m = /^tidemark_compare_pairs\{bucket="(\w+)"\} ([\d.e+]+)$/.exec(text);
    if (m && Object.hasOwn(buckets, m[1])) {
      this.metrics = true;
      this.counts[m[1]] = Number(m[2]);
      this.total += Number(m[2]);
    } else if (!text.startsWith('#') && !text.startsWith('tidemark_') && !/^[a-z_]+(\{.*\})? [-+\d.eInfNa]+$/.test(text)) this.unread++;
  }
}

/** Reads a file or a pasted text piece by piece, however long it is, and reports its progress
 * now and then. */
export async function read(blob, progress) {
  const found = new Found();
  let rest = '';
  let done = 0;
  let said = performance.now();
  const reader = blob.stream().getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { value, done: ended } = await reader.read();
    const lines = (rest + decoder.decode(value ?? new Uint8Array(), { stream: !ended })).split('\n');
    rest = ended ? '' : lines.pop();
    for (const line of lines) found.take(line);
    done += value?.length ?? 0;
    if (ended) return found;
    if (performance.now() - said > 100) {
      said = performance.now();
      progress(blob.size ? done / blob.size : 0);
      await new Promise((resolve) => { setTimeout(resolve); }); // the page stays usable
    }
  }
}
