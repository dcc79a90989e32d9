// Package headerfile reads the headers that servers of one's own want, such as
// Authorization, from files: what is on a command line, everybody on the machine
// can read.
package headerfile

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// ours are the headers that piecebench sets itself: with others, something else
// would be measured, or the framing of the request would be broken.
var ours = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Expect", "Host", "If-Range", "Keep-Alive", "Range",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

// Read reads @path, as curl's --header does: a file with one "Name: value" a line.
// Empty lines, and those that begin with #, do not count. No error quotes a value.
func Read(spec string) (http.Header, error) {
	path, ok := strings.CutPrefix(spec, "@")
	if !ok || path == "" {
		return nil, errors.New("want @ and the path of a file with a header a line, such as @headers.txt: a header itself would be in the process list")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	header := http.Header{}
	lines := bufio.NewScanner(f)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name = http.CanonicalHeaderKey(name); {
		case !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) || value == "":
			return nil, fmt.Errorf("%s: line %d is not Name: value", path, number)
		case slices.Contains(ours, name):
			return nil, fmt.Errorf("%s: line %d sets %s, which piecebench sets itself", path, number, name)
		}
		header.Add(name, value)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(header) == 0 {
		return nil, fmt.Errorf("%s has no header", path)
	}
	return header, nil
}

// CheckURL refuses headers together with a URL that has a user and password, if both
// would be the Authorization.
func CheckURL(header http.Header, address string) error {
	if u, err := url.Parse(address); err == nil && u.User != nil && header.Get("Authorization") != "" {
		return errors.New("the URL has a user and password, and the file of headers an Authorization: give one of them")
	}
	return nil
}
