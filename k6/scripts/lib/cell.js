// What the scripts of all workloads have in common: the options of a cell.

// cellOptions returns k6's options for a cell, CELL as the runner hands it over: its
// clients run from the start of the warm-up to the end of the window. A script may add
// options of its own, such as thresholds:
//
//   export const options = { ...cellOptions(__ENV.CELL), thresholds: { ... } };
export function cellOptions(text) {
  const cell = JSON.parse(text);
  const most = `${(cell.warmup_ns || 0) + cell.duration_ns}ns`;
  const executor = cell.requests
    ? { executor: 'per-vu-iterations', iterations: cell.requests, maxDuration: most }
    : { executor: 'constant-vus', duration: most };
  return {
    scenarios: {
      cell: {
        ...executor,
        vus: cell.clients,
        gracefulStop: '0s', // what still runs is recorded as cut
      },
    },
    // k6 makes a time series of every combination of tags.
    systemTags: ['status', 'expected_response'],
    tags: cell.tags || {},
  };
}
