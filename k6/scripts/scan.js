// Scan: sensor data of a site, one time frame after the other (bench/workload/vectors
// says how it is laid out).
//
// A job is a scan: the client takes a random site and one in fourteen of its sensors.
// For each time frame it loads these sensors' vectors, decompresses them, and computes
// on each of them.
import { Client, compute } from 'k6/x/retrieval';
import { cellOptions } from './lib/cell.js';

const client = new Client(__ENV.CELL);
const cell = JSON.parse(__ENV.CELL);
export const options = cellOptions(__ENV.CELL);

const { SET: set, PARALLEL, COMPUTE } = cell.parameters;
const [sites, frames, sensors, chosen] = ['SITES', 'FRAMES', 'SENSORS', 'CHOSEN'].map((name) => Number(cell.parameters[name]));
const bound = { parallel: Number(PARALLEL) };
const entry = 16; // bytes of an index entry: offset and length

export default function () {
  client.job(() => {
    const site = Math.floor(client.random() * sites);
    const wanted = choose();
    for (let frame = 0; frame < frames; frame++) {
      const vectors = cell.mode === 'packed' ? ranges(site, frame, wanted) : files(site, frame, wanted);
      client.batch(vectors, bound);
      client.stage('compute', () => compute(chosen * Number(COMPUTE)));
    }
  });
}

// choose returns different sensors, in ascending order.
function choose() {
  const wanted = new Set();
  while (wanted.size < chosen) {
    wanted.add(Math.floor(client.random() * sensors));
  }
  return [...wanted].sort((a, b) => a - b);
}

// files asks for one file a vector.
function files(site, frame, wanted) {
  return wanted.map((sensor) => ({ object: `${set}/files/${site}/${frame}/${sensor}`, decode: 'zstd' }));
}

// ranges asks for the vectors' ranges of one file, whose index it reads first.
function ranges(site, frame, wanted) {
  const object = `${set}/packed/${site}/${frame}`;
  const index = client.get({ object, offset: 0, length: sensors * entry, keep: true });
  if (index.outcome !== 'ok') {
    return []; // the job has failed, or the window is over
  }
  const view = new DataView(index.body);
  const at = (position) => Number(view.getBigUint64(position, true));
  return wanted.map((sensor) => ({
    object, offset: at(sensor * entry), length: at(sensor * entry + 8), decode: 'zstd',
  }));
}
