package probe

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"piecebench/internal/plain"
	"piecebench/piece/piececid"
)

const placeholder = "{piece}"

// target is the piece that is probed.
type target struct {
	template string // has the placeholder unless the URL has no CID
	user     *url.Userinfo
	given    *piececid.CID // none if unknown
	main     *piececid.CID // the form in the URL: v1 for a template
}

// cidText is what could be a CID in a URL.
var cidText = regexp.MustCompile(`[A-Za-z0-9]{40,}`)

func parseTarget(address, cid string) (t target, err error) {
	u, err := url.Parse(strings.ReplaceAll(address, placeholder, "x"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return t, fmt.Errorf("%s is not a URL of a piece: give http(s)://host/piece/%s and a CID, or the URL of one piece", plain.Clip(plain.URL(address), plain.MaxLine), placeholder)
	}
	if cid != "" {
		c, err := piececid.Parse(cid)
		if err != nil {
			return t, err
		}
		t.given = &c
	}
	t.user = u.User
	t.template = withoutUser(address)
	if strings.Contains(address, placeholder) {
		if t.given == nil {
			return t, fmt.Errorf("the URL has %s: give the CID of a piece that the server has as second argument", placeholder)
		}
		v1 := t.given.V1()
		t.main = &v1
		return t, nil
	}
	for _, text := range cidText.FindAllString(u.Path, -1) {
		c, err := piececid.Parse(text)
		if err != nil {
			continue
		}
		if t.given != nil && t.given.Root != c.Root {
			return t, errors.New("the CID is not that of the URL: give one of them")
		}
		if t.given == nil || t.given.Version == 1 {
			t.given = &c
		}
		t.main = &c
		t.template = strings.Replace(t.template, text, placeholder, 1)
		break
	}
	return t, nil
}

// withoutUser returns an address without user and password.
func withoutUser(address string) string {
	scheme, rest, _ := strings.Cut(address, "//")
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	return scheme + "//" + rest[strings.LastIndexByte(rest[:end], '@')+1:]
}

// secret tells whether requests carry what may be a credential.
func (t target) secret() bool { return t.user != nil || strings.Contains(t.template, "?") }

// named tells whether the server can be asked for other CIDs.
func (t target) named() bool { return strings.Contains(t.template, placeholder) }

// of returns the URL of a CID, or of what is none.
func (t target) of(cid string) string { return strings.ReplaceAll(t.template, placeholder, cid) }

// url is the piece's.
func (t target) url() string { return t.of(t.text()) }

// text is the CID in the URL.
func (t target) text() string {
	if t.main == nil {
		return ""
	}
	return t.main.String()
}

func (t target) shown() string { return plain.Clip(plain.URL(t.template), plain.MaxLine) }
