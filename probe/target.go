package probe

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"piecebench/internal/plain"
	"piecebench/piece/piececid"
	"piecebench/piece/pieceurl"
)

// target is the piece that is probed.
type target struct {
	template string // has a placeholder unless the URL has no CID
	user     *url.Userinfo
	given    *piececid.CID // none if unknown
	main     *piececid.CID // the form in the URL
}

// cidText is what could be a CID in a URL.
var cidText = regexp.MustCompile(`[A-Za-z0-9]{40,}`)

func parseTarget(address, cid string) (t target, err error) {
	u, err := url.Parse(pieceurl.Fill(address, "x", "x"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return t, fmt.Errorf("%s is not a URL of a piece: give http(s)://host/piece/%s and a CID, or the URL of one piece", plain.Clip(plain.URL(address), plain.MaxLine), pieceurl.V1)
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
	switch version, err := pieceurl.Version(address); {
	case err != nil && strings.Contains(address, pieceurl.V1):
		return t, fmt.Errorf("the URL has %w", err)
	case err != nil: // the URL of one piece
	case t.given == nil:
		return t, errors.New("the URL has a place for a CID: give that of a piece that the server has as second argument")
	case version == 2 && t.given.Version != 2:
		return t, fmt.Errorf("the URL has %s, and a CID v1 does not say the v2: give the CID v2", pieceurl.V2)
	case version == 2:
		t.main = t.given
		return t, nil
	default:
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
		t.template = strings.Replace(t.template, text, pieceurl.V1, 1)
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
func (t target) named() bool { _, err := pieceurl.Version(t.template); return err == nil }

// of returns the URL of a CID, or of what is none.
func (t target) of(cid string) string { return pieceurl.Fill(t.template, cid, cid) }

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
