package workload

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strconv"

	"piecebench/bench/workload/vectors"
)

// Scan is the name of the workload of the study of SeaweedFS and GlusterFS.
const Scan = "scan"

var scan = Workload{
	Name: Scan, Script: "scan.js", Meaning: "sensor data, time frame after time frame, as a file for each vector or as ranges of packed files",
	Presets: map[string]string{
		"MODES": vectors.Files + "," + vectors.Packed, "TARGETS": "raw", "CONCURRENCY": "30,", "DURATION": "60s", "WARMUP": "20s", "VERIFY": "0",
	},
	ParseMode: func(text string, parameters map[string]string) (Mode, error) {
		shape := vectors.ShapeOf(number(parameters[scale]))
		requests := shape.Frames * shape.Chosen
		switch text {
		case vectors.Files:
		case vectors.Packed:
			requests += shape.Frames // the indexes
		default:
			return Mode{}, fmt.Errorf("want %s or %s", vectors.Files, vectors.Packed)
		}
		return Mode{Name: text, Requests: requests, Bytes: vectors.StoredBytes(int64(shape.Frames * shape.Chosen))}, nil
	},
	Variables: []Variable{
		{scale, "0.0002", "share of the study's 8.4 TB of samples, up to 1; sites, frames and sensors keep their ratios", share},
		{"PARALLEL", "1", "vectors that a client loads at once", count(1000)},
		{"COMPUTE", "1ms", "CPU time that a client takes for each vector", milliseconds},
	},
	Jobs: true, Objects: true,
	Derive: func(parameters map[string]string, seed uint64) map[string]string {
		set, shape := setOf(parameters, seed), vectors.ShapeOf(number(parameters[scale]))
		derived := maps.Clone(parameters)
		derived["SET"] = set.Name()
		for name, n := range map[string]int{"SITES": shape.Sites, "FRAMES": shape.Frames, "SENSORS": shape.Sensors, "CHOSEN": shape.Chosen} {
			derived[name] = strconv.Itoa(n)
		}
		return derived
	},
	Data: func(ctx context.Context, folder string, layouts []string, parameters map[string]string, seed uint64, log io.Writer) error {
		return setOf(parameters, seed).Create(ctx, folder, layouts, log)
	},
}

const scale = "SCALE"

func setOf(parameters map[string]string, seed uint64) vectors.Set {
	return vectors.Set{Scale: number(parameters[scale]), Seed: seed}
}
