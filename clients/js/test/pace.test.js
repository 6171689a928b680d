import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from '../src/pace.js';

/** A pace on a clock that the test moves; of a limit of 100 a second and 100 at once it uses 80 and
 * 50. */
function pace() {
  const at = { ms: 1_000_000 };
  const p = new Pace(() => at.ms, () => 1);
  p.allow({ frames_per_second: 100, frames_burst: 100 });
  return { p, at, drain: () => { let n = 0; while (p.take()) n++; return n; } };
}

test('a burst, then a steady pace, and never more than the burst', () => {
  const { p, at, drain } = pace();
  assert.equal(drain(), 50);
  assert.equal(p.wait(), 13);
  at.ms += 13;
  assert.equal(drain(), 1);
  at.ms += 1000;
  assert.ok(Math.abs(drain() - 50) <= 1);
  at.ms += 3_600_000;
  assert.equal(drain(), 50);
});

test('another gateway may allow less, and what was spent stays spent', () => {
  const { p, drain } = pace();
  p.allow({ frames_per_second: 100, frames_burst: 20 });
  assert.equal(drain(), 10);
  p.allow({});
  p.allow({ frames_per_second: 100, frames_burst: 1000 });
  assert.equal(drain(), 0);
  p.allow({ frames_per_second: 0.5, frames_burst: 1 });
  assert.equal(p.wait(), 2500);
});

test('after a refusal nothing goes out for a while, then half as much, and in time as much as before', () => {
  const { p, at, drain } = pace();
  p.refused();
  at.ms += 400;
  p.refused(); // it was sent before
  assert.equal(p.wait(), 600);
  at.ms += 600;
  assert.equal(drain(), 40);
  for (let i = 0; i < 100; i++) p.accepted();
  at.ms += 100;
  assert.equal(drain(), 8);
  for (let i = 0; i < 50; i++) {
    p.refused();
    at.ms += 1000;
  }
  assert.equal(drain(), 1, 'it does not come to a halt');
  assert.ok(p.wait() <= 800);
});

test('a clock that is set back holds nobody up', () => {
  const { p, at, drain } = pace();
  drain();
  at.ms -= 500_000;
  assert.equal(p.wait(), 13);
  p.refused();
  at.ms -= 500_000;
  assert.equal(p.wait(), 1000);
});
