package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"piecebench/piece"
)

// bench is a running nginx and what the contenders need to use it.
type bench struct {
	settings
	manifest     *piece.Manifest
	manifestPath string
	dir          string // of temporary files
	plain, tls   string // addresses
	nginx        *exec.Cmd
	once         sync.Once
}

func newBench(s settings, m *piece.Manifest) (*bench, error) {
	for _, tool := range []string{"nginx", "curl", s.k6} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: install it (make setup), or build it (make build)", err)
		}
	}
	abs, err := filepath.Abs(s.manifest)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "generatorbench-")
	if err != nil {
		return nil, err
	}
	b := &bench{settings: s, manifest: m, manifestPath: abs, dir: dir}
	if b.plain, err = freeAddress(); err == nil {
		if b.tls, err = freeAddress(); err == nil {
			err = os.WriteFile(b.path("stock.js"), stockScript, 0o644)
		}
	}
	if err == nil {
		err = b.serve()
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) base(https bool) string {
	if https {
		return "https://" + b.tls
	}
	return "http://" + b.plain
}

func (b *bench) close() {
	b.once.Do(func() {
		if b.nginx != nil && b.nginx.Process != nil {
			b.nginx.Process.Signal(os.Interrupt)
			b.nginx.Wait()
		}
		os.RemoveAll(b.dir)
	})
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// configuration: sendfile from the page cache, nothing logged, and all of a
// large request in one go. The workers run as the user that reads the dataset.
const configuration = `
%s
daemon off;
worker_processes auto;
pid %[2]s/nginx.pid;
error_log stderr warn;
events { worker_connections 4096; }
http {
  access_log off;
  sendfile on;
  keepalive_requests 1000000;
  open_file_cache max=1000;
  client_body_temp_path %[2]s/body; proxy_temp_path %[2]s/proxy; fastcgi_temp_path %[2]s/fastcgi;
  uwsgi_temp_path %[2]s/uwsgi; scgi_temp_path %[2]s/scgi;
  server {
    listen %[3]s backlog=4096;
    listen %[4]s ssl backlog=4096;
    ssl_certificate %[2]s/cert.pem;
    ssl_certificate_key %[2]s/key.pem;
    location /piece/ { alias %[5]s/; }
  }
}
`

func (b *bench) serve() error {
	if err := b.certificate(); err != nil {
		return err
	}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	flat := filepath.Join(filepath.Dir(b.manifestPath), filepath.Dir(b.manifest.Pieces[0].Flat))
	conf := fmt.Sprintf(configuration, user, b.dir, b.plain, b.tls, flat)
	if err := os.WriteFile(b.path("nginx.conf"), []byte(conf), 0o644); err != nil {
		return err
	}
	b.nginx = exec.Command("nginx", "-e", "stderr", "-c", b.path("nginx.conf"))
	b.nginx.Stderr = os.Stderr
	if err := b.nginx.Start(); err != nil {
		return err
	}
	for range 100 {
		if c, err := net.Dial("tcp", b.tls); err == nil {
			c.Close()
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("nginx does not answer at %s", b.tls)
}

// certificate writes a key and a certificate that signs itself.
func (b *bench) certificate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: cert},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(b.path(name), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}
