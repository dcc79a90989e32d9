package workload

// Retrieval is the name of the default workload, and of that of runs which name none.
const Retrieval = "retrieval"

// Table has every workload of piecebench's own.
var Table = []Workload{
	{
		Name: Retrieval, Script: "retrieval.js", Meaning: "requests, one after another",
		Presets:   map[string]string{"MODES": "full,1MiB,10MiB,100MiB"},
		ParseMode: func(text string, _ map[string]string) (Mode, error) { return request(text) },
	},
	scan,
	batch,
}
