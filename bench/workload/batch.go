package workload

import (
	"strconv"

	"piecebench/internal/parse"
	"piecebench/piece/bytesize"
)

// Batch is the name of the workload of the study of Sia's synchronization.
const Batch = "batch"

var batch = Workload{
	Name: Batch, Script: "batch.js", Meaning: "a sequence of blocks in batches, each verified, applied and announced",
	Presets: map[string]string{
		"MODES": "1,10,100,1000", "CONCURRENCY": "1,", "REQUESTS": "1", "DURATION": "30m", "WARMUP": "0s", "REPEAT": "3", "VERIFY": "0",
	},
	ParseMode: func(text string, parameters map[string]string) (Mode, error) {
		perBatch, err := count(1e6)(text)
		if err != nil {
			return Mode{}, err
		}
		blocks := int64(number(parameters["BLOCKS"]))
		batches := (blocks + int64(number(perBatch)) - 1) / int64(number(perBatch))
		return Mode{Name: perBatch, Requests: int(batches), Bytes: blocks * int64(number(parameters["BLOCK_SIZE"]))}, nil
	},
	Variables: []Variable{
		{"BLOCKS", "1000", "blocks of a synchronization; the study had 146000", count(1e9)},
		{"BLOCK_SIZE", "64KiB", "size of a block", func(text string) (string, error) {
			n, err := bytesize.Parse(text)
			return strconv.FormatInt(n, 10), err
		}},
		{"BATCH_TIMEOUT", "5m", "the longest that a batch may take", seconds},
		{"VALIDATE", "16.8ms", "CPU time to validate a block, beside comparing its bytes; the study's by default", milliseconds},
		{"NOTIFY", "22.6ms", "CPU time to notify subscribers of a block; the study's by default", milliseconds},
		{"PIPELINE", "no", "yes downloads the next batch while one is worked on", parse.OneOf("no", "yes")},
		{"SYNC", "no", "yes has every batch on the disk before the next", parse.OneOf("no", "yes")},
	},
	Jobs: true,
}
