package httpget

import (
	"net"
	"net/http"
	"net/url"
	"testing"
)

// Credentials go to the server that they were given for, and to no other.
func TestCredentialsAreSentToTheirServerOnly(t *testing.T) {
	type login struct{ user, password, key string }
	seen := make(chan login, 10)
	note := func(r *http.Request) {
		user, password, _ := r.BasicAuth()
		seen <- login{user, password, r.Header.Get("X-Key")}
	}
	other := newServer(t, nil, func(c net.Conn, r *http.Request, _ int) bool {
		note(r)
		answer(c, r)
		return true
	})
	s := newServer(t, nil, func(c net.Conn, r *http.Request, _ int) bool {
		note(r)
		location := "/piece/x"
		switch r.URL.Path {
		case "/elsewhere":
			location = "http://stolen:stolen@" + other.Addr().String() + "/"
		case "/here":
		default:
			answer(c, r)
			return true
		}
		write(c, "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", location)
		return true
	})
	given := login{"user", "p@ss:wörd/", "k"}
	for _, c := range []struct {
		user *url.Userinfo
		path string
		want []login
	}{
		{url.UserPassword(given.user, given.password), "/piece/x", []login{given}},
		{url.User("token"), "/piece/x", []login{{"token", "", "k"}}},
		{nil, "/piece/x", []login{{key: "k"}}},
		{url.UserPassword(given.user, given.password), "/here", []login{given, given}},
		{url.UserPassword(given.user, given.password), "/elsewhere", []login{given, {}}},
	} {
		u := s.url("http")
		u.User, u.Path = c.user, c.path
		wantOK(t, get(t.Context(), Config{Header: http.Header{"X-Key": {"k"}}}, ranged(u, 0, 10)))
		for _, want := range c.want {
			if got := <-seen; got != want {
				t.Errorf("%s: %+v, want %+v", c.path, got, want)
			}
		}
	}
}
