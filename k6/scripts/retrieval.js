// One cell of the retrieval benchmark: CONCURRENCY clients, each downloading
// pieces or ranges one after the other, for WARMUP and then DURATION.
//
//   bin/k6 run -e URL=http://127.0.0.1:8080/piece/{piece} -e MANIFEST=data/pieces.json \
//     -e MODE=1MiB -e CONCURRENCY=10 k6/scripts/retrieval.js
//
// Environment variable, default:
//   URL          required; {piece} stands for the piece CID v1. User and password in it are sent as a header (Basic)
//   MANIFEST     required; path of the dataset's pieces.json
//   MODE         full   whole pieces, or the size of the ranges (1MiB)
//   CONCURRENCY  10     clients; their starts are spread over half the warm-up
//   DURATION     10s    the measured window
//   REQUESTS     0      as many as fit into it; else how many each client makes: the window ends with the last of them
//   WARMUP       2s     what runs before it
//   VERIFY       0      share of requests whose bytes are checked
//   CONNECTIONS  reuse  or fresh: a new connection for each request
//   SEED         1      of the sequence of pieces and offsets
//   TIMEOUT      none   of one request
//   STALL        30s    without a byte
//   RECORDS      none   Parquet file to write, a row per request (docs/RESULTS.md)
//   PROGRESS     none   file to write, a line of JSON a second
//   RUN, TARGET, LINK, REPETITION   tags of every metric, beside mode and concurrency
import { Client } from 'k6/x/retrieval';

const env = { MODE: 'full', CONCURRENCY: '10', DURATION: '10s', WARMUP: '2s', REQUESTS: '0', ...__ENV };

const client = new Client({
  url: env.URL,
  manifest: env.MANIFEST,
  mode: env.MODE,
  clients: env.CONCURRENCY,
  warmup: env.WARMUP,
  duration: env.DURATION,
  verify: env.VERIFY,
  connections: env.CONNECTIONS,
  seed: env.SEED,
  timeout: env.TIMEOUT,
  stall: env.STALL,
  records: env.RECORDS,
  progress: env.PROGRESS,
});

const most = env.WARMUP + env.DURATION; // written side by side, Go durations add up: 2s10s
const executor =
  env.REQUESTS === '0'
    ? { executor: 'constant-vus', duration: most }
    : { executor: 'per-vu-iterations', iterations: Number(env.REQUESTS), maxDuration: most };

export const options = {
  scenarios: {
    retrieval: {
      ...executor,
      vus: Number(env.CONCURRENCY),
      gracefulStop: '0s', // what still runs is recorded as cut
    },
  },
  // k6 makes a time series of every combination of tags.
  systemTags: ['status', 'expected_response'],
  tags: {
    run: env.RUN || '',
    target: env.TARGET || '',
    link: env.LINK || '',
    mode: env.MODE,
    concurrency: env.CONCURRENCY,
    repetition: env.REPETITION || '',
  },
};

export default function () {
  client.get();
}
