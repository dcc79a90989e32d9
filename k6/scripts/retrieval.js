// One cell of the retrieval benchmark: clients that download pieces or ranges, one
// after the other, in a warm-up and then in a window. The environment variable CELL
// says what runs, as JSON: records/cell.go describes its fields.
//
//   bin/k6 run k6/scripts/retrieval.js -e CELL='{"url":"http://127.0.0.1:8080/piece/{piece}",
//     "manifest":"data/pieces.json","length":1048576,"clients":10,"warmup_ns":2000000000,"duration_ns":10000000000}'
import { Client } from 'k6/x/retrieval';
import { cellOptions } from './lib/cell.js';

const client = new Client(__ENV.CELL);

export const options = cellOptions(__ENV.CELL);

export default function () {
  client.get();
}
