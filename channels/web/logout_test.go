package web

import (
	"encoding/base64"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// loginCookie returns the value of a cookie that ends at a time. Its proof does not matter here.
func loginCookie(id byte, ends time.Time) string {
	b := make([]byte, 24, 56)
	b[0] = id
	binary.BigEndian.PutUint64(b[16:], uint64(ends.Unix()))
	return base64.RawURLEncoding.EncodeToString(b[:56])
}

func TestLogouts_SurviveRestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "logouts")
	now := time.Now()
	old, one, two := loginCookie(1, now.Add(time.Minute)), loginCookie(2, now.Add(time.Hour)), loginCookie(3, now.Add(time.Hour))
	l := &logouts{file: file}
	for cookie, at := range map[string]time.Time{old: now, one: now} {
		if err := l.endLogin(cookie, at); err != nil {
			t.Fatal(err)
		}
	}
	l = &logouts{file: file}
	for cookie, want := range map[string]bool{old: true, one: true, two: false} {
		if ended, err := l.hasEnded(cookie); err != nil || ended != want {
			t.Errorf("ended %v (%v), want %v", ended, err, want)
		}
	}
	// A cookie that has expired anyway needs no row.
	if err := l.endLogin(two, now.Add(2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n := len(l.ended); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

func TestLogouts_RejectCookiesWhenUnreadable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "logouts")
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	l := &logouts{file: file}
	if _, err := l.hasEnded(loginCookie(1, time.Now().Add(time.Hour))); err == nil {
		t.Error("a cookie is accepted although the file is unreadable")
	}
}
