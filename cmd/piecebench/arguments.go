package main

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	"github.com/spf13/cobra"
)

// oneRun refuses arguments that are not the folder of one run.
func oneRun(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one argument, the folder of a run; got %d", cmd.Name(), len(args))
	}
	return nil
}

// hideSecrets overwrites the URLs that may hold secrets in this process's command
// line, which everybody on the machine can read. The program keeps them.
func hideSecrets() {
	for i, argument := range os.Args {
		at := strings.Index(argument, "://")
		if at < 0 || !strings.ContainsAny(argument, "@?") {
			continue
		}
		os.Args[i] = strings.Clone(argument)
		// Go's own strings are the kernel's bytes.
		line := unsafe.Slice(unsafe.StringData(argument), len(argument))
		for j := at + len("://"); j < len(line); j++ {
			line[j] = '*'
		}
	}
}
