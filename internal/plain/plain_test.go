package plain

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestALineIsShortAndPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"status 404 Ünicode — “ok”": "status 404 Ünicode — “ok”",
		"a\x1b]0;title\a\r\n\tb":    "a�]0;title�   b",
		"C1 \u009b31m, bidi \u202e, zero \u200b, line \u2028": "C1 �31m, bidi �, zero �, line  ",
		"broken \xff\xc3":              "broken ��",
		strings.Repeat("x", 200):       strings.Repeat("x", 200),
		strings.Repeat("x", 201):       strings.Repeat("x", 197) + "…",
		strings.Repeat("ä", 101):       strings.Repeat("ä", 98) + "…",
		strings.Repeat("\x00", 60_000): strings.Repeat("�", 65) + "…",
	} {
		got := Line(text)
		if got != want || len(got) > MaxLine || !utf8.ValidString(got) || Line(got) != got {
			t.Errorf("%.50q: %q, want %q", text, got, want)
		}
	}
}

func TestAURLIsShownWithoutItsSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"http://h:1/piece/{piece}":                     "http://h:1/piece/{piece}",
		"http://h/piece/{piece}@v1":                    "http://h/piece/{piece}@v1",
		"http://user:secret@h:1/piece/{piece}":         "http://***@h:1/piece/{piece}",
		"https://secret@[::1]:2/{piece}":               "https://***@[::1]:2/{piece}",
		"http://user:a@b@h/@/{piece}":                  "http://***@h/@/{piece}",
		"http://h/{piece}?token=secret&v=&cid={piece}": "http://h/{piece}?token=***&v=&cid={piece}",
		"http://h/{piece}?secret#secret":               "http://h/{piece}?***",
		"http://h/?v2={piece_v2}&token=secret":         "http://h/?v2={piece_v2}&token=***",
		"http://h?a=b/c@d":                             "http://h?a=***",
		"//user:secret@h/":                             "//***@h/",
		// What is no URL.
		"http://user:sec ret@h/":    "http://***@h/",
		"http://user:sec/ret@h/":    "http://***@h/",
		"http://user:%zz@h/?secret": "http://***@h/?***",
		"user:secret@h":             "***@h",
		"http://h:port/?secret":     "http://h:port/?***",
	} {
		if got := URL(address); got != want || URL(got) != got || strings.Contains(got, "secret") {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestAnErrorDoesNotQuoteItsURL(t *testing.T) {
	_, err := http.Get("http://user:secret@127.0.0.1:1/?token=secret")
	if err == nil {
		t.Fatal("somebody answers on port 1")
	}
	if got := Error(err); strings.Contains(got, "secret") || strings.Contains(got, "user") || !strings.Contains(got, "refused") {
		t.Error(got)
	}
	if got := Error(&url.Error{Op: "Get", Err: errors.New("\x1b")}); got != "�" {
		t.Error(got)
	}
}
