// Batch: a sequence of blocks, in the way in which Sia synchronizes its chain.
//
// A job is a whole synchronization. Blocks are ranges of pieces, one after the other.
// The mode says how many of them a request asks for. Each batch is verified, block by
// block in order, applied (written to a file), and subscribers are notified of it. With
// PIPELINE=yes the next batch is downloaded meanwhile.
import { Client, compute } from 'k6/x/retrieval';
import { cellOptions } from './lib/cell.js';

const client = new Client(__ENV.CELL);
const cell = JSON.parse(__ENV.CELL);
export const options = cellOptions(__ENV.CELL);

const { PIPELINE, SYNC } = cell.parameters;
const [blocks, size, timeout, validate, notify] = ['BLOCKS', 'BLOCK_SIZE', 'BATCH_TIMEOUT', 'VALIDATE', 'NOTIFY'].map((name) => Number(cell.parameters[name]));
const perBatch = Number(cell.mode);

export default function () {
  client.job(() => {
    let next = download(0);
    for (let first = 0; first < blocks; first += perBatch) {
      const batch = next.wait();
      if (batch.some((part) => part.outcome !== 'ok')) {
        return; // the job has failed, or the window is over
      }
      const last = first + perBatch >= blocks;
      if (!last && PIPELINE === 'yes') {
        next = download(first + perBatch);
      }
      const count = Math.min(perBatch, blocks - first);
      client.stage('verify', () => {
        batch.forEach((part) => client.verify(part));
        compute(count * validate);
      });
      client.stage('apply', () => batch.forEach((part) => client.store(part, { sync: SYNC === 'yes' })));
      client.stage('notify', () => compute(count * notify));
      if (!last && PIPELINE !== 'yes') {
        next = download(first + perBatch);
      }
    }
  });
}

// download begins the download of a batch. One that goes beyond a piece's end is several
// requests.
function download(first) {
  const requests = [];
  for (let block = first; block < Math.min(first + perBatch, blocks); ) {
    const perPiece = Math.floor(client.pieces[0].size / size);
    const piece = Math.floor(block / perPiece) % client.pieces.length;
    const inPiece = block % perPiece;
    const count = Math.min(perPiece - inPiece, first + perBatch - block, blocks - block);
    requests.push({ piece, offset: inPiece * size, length: count * size, keep: true });
    block += count;
  }
  return client.start(requests, { parallel: 1, timeout });
}
