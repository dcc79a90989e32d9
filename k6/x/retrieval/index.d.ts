// Types of the k6 module k6/x/retrieval, for editors. docs/WORKLOADS.md is the guide.

/** What a client asks for: a piece or an object, or a range of it. */
export interface Request extends Options {
  /** The piece: its index in the manifest, or its CID (v1 or v2). */
  piece?: number | string;
  /** The object's name, where no piece is asked for. The target needs an object URL. */
  object?: string;
  /** First byte of a range. Without offset and length the request is for all bytes. */
  offset?: number;
  /** Bytes of a range. */
  length?: number;
}

/** What becomes of a request and its answer. */
export interface Options {
  /**
   * true: compare every byte with the piece as it arrives; false: do not. Without it the
   * cell's share of requests (VERIFY) is compared. A wrong byte is the outcome corrupt.
   */
  verify?: boolean;
  /** Keep the body, at most 1 GiB: see Response.body. */
  keep?: boolean;
  /**
   * Decompress the body once it has arrived, to at most 1 GiB. In a job, this time is the
   * stage `decode`. A body that cannot be decompressed is the outcome corrupt.
   */
  decode?: 'zstd';
  /** Seconds that the request may take. Without it the cell's timeout holds. */
  timeout?: number;
}

/** Options of a batch. Those that its requests have go first. */
export interface BatchOptions extends Options {
  /** How many requests run at once, 1 to 1000. Without it: k6's option batchPerHost (6). */
  parallel?: number;
}

/**
 * How a request ended. docs/RESULTS.md describes each outcome. `cut`: the window closed
 * before the request ended, or before it could start.
 */
export type Outcome =
  | 'ok' | 'cut' | 'connect' | 'reset' | 'timeout' | 'stalled' | 'status' | 'range' | 'short' | 'corrupt';

export interface Response {
  readonly outcome: Outcome;
  /** What went wrong, in one line; empty for ok and cut. */
  readonly error: string;
  /** HTTP status; 0 without an answer. */
  readonly status: number;
  /** Body bytes received. */
  readonly bytes: number;
  /** Milliseconds from just before the request was written to the first byte. */
  readonly ttfb_ms: number;
  /** Milliseconds from the request's start to the last byte. */
  readonly duration_ms: number;
  /** Bytes that the body decompressed to; 0 without decode. */
  readonly decoded: number;
  /** The body as it arrived, of an ok request with keep; else null. */
  readonly body: ArrayBuffer | null;
}

export interface Piece {
  /** CID v1 */
  readonly cid: string;
  /** Bytes that the target serves. */
  readonly size: number;
}

/** Requests that run in the background. */
export interface Handle {
  /** Waits for all of them, and returns the responses in the order of the requests. */
  wait(): Response[];
}

/**
 * A client: one for each VU. Make it in the init context, with the environment variable
 * CELL. Its methods belong in a scenario's function. Each of them waits by itself: no
 * function has to be async. A mistake in an argument ends the whole test.
 */
export class Client {
  constructor(cell: string);

  /** The pieces of the manifest; none where the target has only objects. */
  readonly pieces: Piece[];

  /** Returns the next request of this client's sequence, which depends on the seed alone. */
  next(): Request;

  /**
   * Returns the next random number of this client, from 0 to below 1. It depends on the
   * seed alone, and Math.random() does not: use it where a script draws by itself.
   */
  random(): number;

  /** Sends a request and waits for its end. Without an argument: the next of the sequence. */
  get(request?: Request): Response;

  /**
   * Sends requests, some at once, each on a connection of its own, which the client keeps.
   * Waits for all, and returns the responses in the order of the requests.
   */
  batch(requests: Request[], options?: BatchOptions): Response[];

  /**
   * Sends requests as batch does, but in the background. The requests belong to the job in
   * which they were started. A job, or an iteration without one, ends after its requests.
   */
  start(requests: Request[], options?: BatchOptions): Handle;

  /**
   * Runs a function as one job, and returns what it returns. The job is ok when every
   * request was ok and the function did not throw, and cut when the window closes first.
   * Else it has failed, with the first error. After the window no job begins: then job
   * returns undefined.
   */
  job<T>(fn: () => T): T | undefined;

  /**
   * Runs a function as a stage of the running job, and returns what it returns. Stages of
   * one name add up. Requests are the stage `download` by themselves.
   */
  stage<T>(name: string, fn: () => T): T;

  /**
   * Compares a kept body with its piece: local work, for a stage. A wrong body returns
   * false, and fails the job.
   */
  verify(response: Response): boolean;

  /**
   * Appends a kept body to this client's file in the cell's scratch folder, and returns how
   * many bytes. With sync: waits until they are on the disk.
   */
  store(response: Response, options?: { sync?: boolean }): number;
}

/** Uses one CPU for so many milliseconds of CPU time, or until the scenario ends. */
export function compute(milliseconds: number): void;
