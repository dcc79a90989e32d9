// The same downloads with k6's own http module.
import http from 'k6/http';

const pieces = JSON.parse(open(__ENV.MANIFEST)).pieces;
const length = Number(__ENV.LENGTH);

export const options = {
  discardResponseBodies: true,
  scenarios: {
    stock: { executor: 'constant-vus', vus: Number(__ENV.CLIENTS), duration: __ENV.DURATION, gracefulStop: '0s' },
  },
  systemTags: ['status', 'expected_response'],
};

export default function () {
  const piece = pieces[Math.floor(Math.random() * pieces.length)];
  const offset = Math.floor(Math.random() * ((piece.padded_size / 128) * 127 - length + 1));
  http.get(`${__ENV.BASE}/piece/${piece.cid}`, { headers: { Range: `bytes=${offset}-${offset + length - 1}` } });
}

export function handleSummary(data) {
  return { stdout: String(data.metrics.data_received.values.count) };
}
