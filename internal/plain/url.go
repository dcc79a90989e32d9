package plain

import (
	"errors"
	"net/url"
	"regexp"
	"strings"

	"piecebench/piece/pieceurl"
)

// Hidden stands in a URL for what is secret.
const Hidden = "***"

// placeholder reports whether a value stands for a CID, and is no secret.
func placeholder(value string) bool { return value == pieceurl.V1 || value == pieceurl.V2 }

// URL returns address without what may be secret: user and password, the values
// of its query, and its fragment. A text that is no URL loses all that could be
// one of them.
func URL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" {
		return query.ReplaceAllString(user.ReplaceAllString(address, "${1}"+Hidden+"@"), "?"+Hidden)
	}
	// Not with url.String, which would write {piece} as %7Bpiece%7D.
	address, _, _ = strings.Cut(address, "#")
	path, asked, asks := strings.Cut(address, "?")
	if u.User != nil {
		scheme, rest, _ := strings.Cut(path, "//")
		end := strings.IndexByte(rest+"/", '/')
		path = scheme + "//" + Hidden + rest[strings.LastIndexByte(rest[:end], '@'):]
	}
	if !asks {
		return path
	}
	parts := strings.Split(asked, "&")
	for i, part := range parts {
		switch name, value, named := strings.Cut(part, "="); {
		case named && value != "" && !placeholder(value):
			parts[i] = name + "=" + Hidden
		case !named && part != "" && !placeholder(part):
			parts[i] = Hidden
		}
	}
	return path + "?" + strings.Join(parts, "&")
}

// user and query are where the secrets of a text may be that is no URL.
var (
	user  = regexp.MustCompile(`^((?:[a-zA-Z]+:)?//)?.*@`)
	query = regexp.MustCompile(`\?.*`)
)

// Error returns the text of err, an HTTP client's, without the URL that such an
// error quotes.
func Error(err error) string {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err
	}
	return Line(err.Error())
}
