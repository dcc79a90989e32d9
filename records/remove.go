package records

import (
	"errors"
	"io/fs"
	"os"
)

// Remove removes the records that were written to path, whole or in parts. It
// is no error if there are none.
func Remove(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(path+partsSuffix))
}
