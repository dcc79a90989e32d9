// Reads, from standard input, any number of payloads, each after its size as a
// line of decimal digits, and prints the piece CIDs v1 and v2 of each.
import { Piece } from '@web3-storage/data-segment'
import { readFileSync } from 'node:fs'

const input = readFileSync(0)
for (let at = 0; at < input.length; ) {
  const line = input.indexOf(10, at)
  const size = Number(input.toString('latin1', at, line))
  const piece = Piece.fromPayload(input.subarray(line + 1, line + 1 + size))
  console.log(`${piece.toInfo().link} ${piece.link}`)
  at = line + 1 + size
}
