// Package pimtest starts real servers for email and calendars (dovecot and radicale) on free
// loopback ports. Only tests import it. If a server is not installed, the tests are skipped with
// this reason.
package pimtest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"hob/platform/net/nettest"
	"hob/platform/pim"
)

// Secret is the password of every user.
const Secret = "secret"

// Dovecot is a running dovecot.
type Dovecot struct {
	IMAPS string // "imaps://127.0.0.1:port"
	IMAP  string // with STARTTLS
	CA    string // path of the server's certificate, a PEM file

	t    testing.TB
	dir  string
	bin  string
	caps string
	cmd  *exec.Cmd
}

// StartDovecot starts a server. caps replaces the capabilities that it advertises; "" keeps its
// own.
func StartDovecot(t testing.TB, caps string) *Dovecot {
	t.Helper()
	d := &Dovecot{t: t, bin: findProgram(t, "dovecot"), caps: caps}
	d.dir = shortTempDir(t)
	d.CA = filepath.Join(d.dir, "tls.pem")
	writeCertificate(t, d.CA, filepath.Join(d.dir, "tls.key"))
	d.IMAPS, d.IMAP = "imaps://127.0.0.1:"+nettest.FreePort(t), "imap://127.0.0.1:"+nettest.FreePort(t)
	d.Start()
	t.Cleanup(d.Stop)
	return d
}

// Account returns the account of a user.
func (d *Dovecot) Account(name string) pim.Account {
	return pim.Account{
		Name: "work", Servers: pim.Servers{pim.IMAP: d.IMAPS}, Address: name + "@test.local", User: name, CA: d.CA,
		Secret: func(context.Context) (string, error) { return Secret, nil },
	}
}

// Start starts the server again after Stop. It keeps its messages.
func (d *Dovecot) Start() {
	d.t.Helper()
	conf := filepath.Join(d.dir, "dovecot.conf")
	u, g := serverUser(d.t)
	var b bytes.Buffer
	err := template.Must(template.New("").Parse(dovecotConf)).Execute(&b, map[string]string{
		"Dir": d.dir, "User": u, "Group": g, "IMAPS": portOf(d.IMAPS), "IMAP": portOf(d.IMAP), "Secret": Secret, "Caps": d.caps,
	})
	if err != nil {
		d.t.Fatal(err)
	}
	writeFile(d.t, conf, b.String())
	d.cmd = exec.Command(d.bin, "-F", "-c", conf) //nolint:noctx // Stop ends it
	dropPrivileges(d.cmd)
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.waitReady(portOf(d.IMAPS))
}

func (d *Dovecot) waitReady(port string) {
	d.t.Helper()
	if !waitReachable(port) {
		log, _ := os.ReadFile(filepath.Join(d.dir, "dovecot.log"))
		d.t.Fatalf("dovecot is not reachable: %s", log)
	}
}

// Stop stops the server and closes all its connections.
func (d *Dovecot) Stop() {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Signal(os.Interrupt)
	_ = d.cmd.Wait()
	d.cmd = nil
}

// Renumber assigns a new UIDVALIDITY to the user's folders and new UIDs to their messages, like a
// server that lost its index.
func (d *Dovecot) Renumber(name string) {
	d.t.Helper()
	d.Stop()
	root := filepath.Join(d.dir, "mail", name)
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasPrefix(e.Name(), "dovecot") {
			return os.Remove(path)
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.Start()
}

// Deliver stores a message in a folder of the user. came is the arrival time that the server
// reports; the zero time means now.
func (d *Dovecot) Deliver(name, folder, mail string, came time.Time) {
	d.t.Helper()
	c := d.dialClient(name)
	defer func() { _ = c.Close() }()
	d.appendMail(c, folder, mail, came)
}

// Appender returns a function that delivers messages with the current time. For many messages it is
// faster than Deliver.
func (d *Dovecot) Appender(name, folder string) func(mail string) {
	c := d.dialClient(name)
	d.t.Cleanup(func() { _ = c.Close() })
	return func(mail string) { d.appendMail(c, folder, mail, time.Time{}) }
}

func (d *Dovecot) appendMail(c *imapclient.Client, folder, mail string, came time.Time) {
	d.t.Helper()
	raw := []byte(strings.ReplaceAll(mail, "\n", "\r\n"))
	var o *imap.AppendOptions
	if !came.IsZero() {
		o = &imap.AppendOptions{Time: came}
	}
	a := c.Append(folder, int64(len(raw)), o)
	if _, err := a.Write(raw); err != nil {
		d.t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		d.t.Fatal(err)
	}
	if _, err := a.Wait(); err != nil {
		d.t.Fatal(err)
	}
}

// Create creates a folder. Dovecot answers ALREADYEXISTS when a second session selects the folder
// while it is created; the folder exists then, so Create accepts that answer.
func (d *Dovecot) Create(name, folder string) {
	d.t.Helper()
	c := d.dialClient(name)
	defer func() { _ = c.Close() }()
	err := c.Create(folder, nil).Wait()
	if refused, ok := errors.AsType[*imap.Error](err); ok && refused.Code == imap.ResponseCodeAlreadyExists {
		return
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *Dovecot) dialClient(name string) *imapclient.Client {
	d.t.Helper()
	conf, err := d.Account(name).TLS("127.0.0.1")
	if err != nil {
		d.t.Fatal(err)
	}
	c, err := imapclient.DialTLS(strings.TrimPrefix(d.IMAPS, "imaps://"), &imapclient.Options{TLSConfig: conf})
	if err != nil {
		d.t.Fatal(err)
	}
	if err := c.Login(name, Secret).Wait(); err != nil {
		d.t.Fatal(err)
	}
	return c
}

// Connections returns the number of open connections of the user.
func (d *Dovecot) Connections(name string) int {
	d.t.Helper()
	doveadm, err := exec.LookPath("doveadm")
	if err != nil {
		d.t.Skip("doveadm is not installed")
	}
	cmd := exec.CommandContext(d.t.Context(), doveadm, "-c", filepath.Join(d.dir, "dovecot.conf"), "who", "-1", name)
	dropPrivileges(cmd)
	out, err := cmd.Output()
	if err != nil {
		return 0 // doveadm fails if the user has no connections
	}
	return strings.Count(string(out), "imap")
}

const dovecotConf = `base_dir = {{.Dir}}/run
state_dir = {{.Dir}}/state
log_path = {{.Dir}}/dovecot.log
protocols = imap
listen = 127.0.0.1
default_internal_user = {{.User}}
default_internal_group = {{.Group}}
default_login_user = {{.User}}
first_valid_uid = 1
mail_location = maildir:{{.Dir}}/mail/%n
ssl = required
ssl_cert = <{{.Dir}}/tls.pem
ssl_key = <{{.Dir}}/tls.key
auth_mechanisms = plain login
auth_failure_delay = 0
mail_fsync = never
auth_username_format = %Ln
{{if .Caps}}imap_capability = {{.Caps}}
{{end}}passdb {
  driver = static
  args = password={{.Secret}}
}
userdb {
  driver = static
  args = uid={{.User}} gid={{.Group}} home={{.Dir}}/mail/%n
}
namespace inbox {
  inbox = yes
  mailbox Gesendet {
    auto = create
    special_use = \Sent
  }
}
service anvil {
  chroot =
}
service stats {
  chroot =
}
service imap-login {
  chroot =
  inet_listener imap {
    port = {{.IMAP}}
  }
  inet_listener imaps {
    port = {{.IMAPS}}
    ssl = yes
  }
}
`

// writeCertificate creates a certificate for the loopback address.
func writeCertificate(t testing.TB, cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	kder, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	writeFile(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: kder})))
}

// Certificate creates a certificate for a server of the test.
func Certificate(t testing.TB) (ca string, conf *tls.Config) {
	t.Helper()
	dir := t.TempDir()
	ca = filepath.Join(dir, "tls.pem")
	writeCertificate(t, ca, filepath.Join(dir, "tls.key"))
	pair, err := tls.LoadX509KeyPair(ca, filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	return ca, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	chownToServer(t, path)
}

// findProgram finds the executable of a server. It also searches the folders that are normally only
// in root's PATH.
func findProgram(t testing.TB, name string) string {
	t.Helper()
	for _, p := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// shortTempDir returns a temporary folder whose path is short enough for Unix sockets
// (104 bytes).
func shortTempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hobpim") //nolint:usetesting // t.TempDir is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the processes of the server need access
		t.Fatal(err)
	}
	chownToServer(t, dir)
	return dir
}

// serverUser returns the user and group under which the servers run, because dovecot refuses to
// serve email as root.
func serverUser(t testing.TB) (string, string) {
	t.Helper()
	u, err := user.LookupId(fmt.Sprint(serverUID()))
	if err != nil {
		t.Fatal(err)
	}
	g, err := user.LookupGroupId(u.Gid)
	if err != nil {
		t.Fatal(err)
	}
	return u.Username, g.Name
}

func portOf(s string) string { return s[strings.LastIndexByte(s, ':')+1:] }

func waitReachable(port string) bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		d := net.Dialer{Timeout: time.Second}
		if c, err := d.Dial("tcp", "127.0.0.1:"+port); err == nil {
			_ = c.Close()
			return true
		}
	}
	return false
}
