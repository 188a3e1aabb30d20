package pimtest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/net/nettest"
	"hob/platform/pim"
)

// Radicale is a running radicale.
type Radicale struct {
	URL string // "http://127.0.0.1:port/"

	t    testing.TB
	user string
	dir  string
	bin  string
	cmd  *exec.Cmd
	port string
}

// StartRadicale starts a server with the users tester and other, which writes as tester.
func StartRadicale(t testing.TB) *Radicale {
	t.Helper()
	r := &Radicale{t: t, user: "tester", bin: findProgram(t, "radicale"), dir: shortTempDir(t), port: nettest.FreePort(t)}
	r.URL = "http://127.0.0.1:" + r.port + "/"
	writeFile(t, filepath.Join(r.dir, "users"), "tester:"+Secret+"\nother:"+Secret+"\n")
	writeFile(t, filepath.Join(r.dir, "radicale.conf"), fmt.Sprintf(`[server]
hosts = 127.0.0.1:%s
[auth]
type = htpasswd
htpasswd_filename = %s/users
htpasswd_encryption = plain
delay = 0
[rights]
type = owner_only
[logging]
level = info
[storage]
filesystem_folder = %[2]s/collections
`, r.port, r.dir))
	r.Start()
	t.Cleanup(r.Stop)
	return r
}

// As returns the same server, which writes as another user. Only r starts and stops it.
func (r *Radicale) As(user string) *Radicale {
	out := *r
	out.user = user
	return &out
}

// Account returns the account of a user.
func (r *Radicale) Account(name string) pim.Account {
	return pim.Account{
		Name: "home", Servers: pim.Servers{pim.CalDAV: r.URL, pim.CardDAV: r.URL}, User: name,
		Secret: func(context.Context) (string, error) { return Secret, nil },
	}
}

// Start starts the server again after Stop.
func (r *Radicale) Start() {
	r.t.Helper()
	r.cmd = exec.Command(r.bin, "--config", filepath.Join(r.dir, "radicale.conf")) //nolint:noctx // Stop ends it
	r.cmd.Dir = r.dir
	r.cmd.Env = append(os.Environ(), "HOME="+r.dir)
	dropPrivileges(r.cmd)
	log, err := os.OpenFile(filepath.Join(r.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		r.t.Fatal(err)
	}
	defer log.Close()
	r.cmd.Stdout, r.cmd.Stderr = log, log
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	if !waitReachable(r.port) {
		r.t.Fatal("radicale is not reachable")
	}
}

// Stop stops the server.
func (r *Radicale) Stop() {
	if r.cmd == nil {
		return
	}
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	r.cmd = nil
}

// Make creates a calendar of the user.
func (r *Radicale) Make(calendar string) {
	r.t.Helper()
	r.sendRequest("MKCALENDAR", calendar+"/", fmt.Sprintf(`<?xml version="1.0"?><C:mkcalendar xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:set><D:prop><D:displayname>%s</D:displayname></D:prop></D:set></C:mkcalendar>`, calendar))
}

// MakeBook creates an address book of the user tester.
func (r *Radicale) MakeBook(name string) {
	r.t.Helper()
	r.sendRequest("MKCOL", name+"/", fmt.Sprintf(`<?xml version="1.0"?><D:mkcol xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:carddav"><D:set><D:prop><D:resourcetype><D:collection/><C:addressbook/></D:resourcetype><D:displayname>%s</D:displayname></D:prop></D:set></D:mkcol>`, name))
}

// PutCard stores a contact.
func (r *Radicale) PutCard(book, name, lines string) {
	r.t.Helper()
	r.sendRequest(http.MethodPut, book+"/"+name+".vcf", strings.ReplaceAll("BEGIN:VCARD\nVERSION:3.0\nUID:"+name+"\nN:;;;;\n"+lines+"\nEND:VCARD\n", "\n", "\r\n"))
}

// Put stores one object, given by the lines of its events.
func (r *Radicale) Put(calendar, name string, events ...string) {
	r.t.Helper()
	r.putObject("VEVENT", calendar, name, events...)
}

// PutTodo writes a task, given by its lines, to a file.
func (r *Radicale) PutTodo(list, name, lines string) {
	r.t.Helper()
	r.putObject("VTODO", list, name, lines)
}

func (r *Radicale) putObject(kind, calendar, name string, all ...string) {
	r.t.Helper()
	text := "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//test//EN\n"
	for _, e := range all {
		text += "BEGIN:" + kind + "\nUID:" + name + "\nDTSTAMP:20261101T000000Z\n" + strings.TrimSpace(e) + "\nEND:" + kind + "\n"
	}
	r.PutRaw(calendar, name, text+"END:VCALENDAR\n")
}

// PutRaw stores an object with its complete data.
func (r *Radicale) PutRaw(calendar, name, data string) {
	r.t.Helper()
	r.sendRequest(http.MethodPut, calendar+"/"+name+".ics", strings.ReplaceAll(data, "\n", "\r\n"))
}

// Requests returns the approximate number of handled requests.
func (r *Radicale) Requests() int {
	b, err := os.ReadFile(filepath.Join(r.dir, "log"))
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Count(string(b), "response status")
}

// Delete removes an object.
func (r *Radicale) Delete(calendar, name string) {
	r.t.Helper()
	r.sendRequest(http.MethodDelete, calendar+"/"+name+".ics", "")
}

func (r *Radicale) sendRequest(method, path, body string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, r.URL+r.user+"/"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.SetBasicAuth(r.user, Secret)
	switch {
	case method == http.MethodPut && strings.HasSuffix(path, ".vcf"):
		req.Header.Set("Content-Type", "text/vcard; charset=utf-8")
	case method == http.MethodPut:
		req.Header.Set("Content-Type", "text/calendar; charset=utf-8")
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode >= 300 {
		r.t.Fatalf("%s %s: %s", method, path, res.Status)
	}
}
