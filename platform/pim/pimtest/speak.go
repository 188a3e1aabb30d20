package pimtest

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"hob/platform/pim"
)

// Speak starts an IMAP server that sends the greeting hello and then, for each command, the text
// that answer returns. If answer returns "", the server closes the connection.
func Speak(t testing.TB, hello string, answer func(tag, command string) string) pim.Account {
	t.Helper()
	ca, conf := Certificate(t)
	var lc net.ListenConfig
	raw, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := tls.NewListener(raw, conf)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serveIMAP(c, hello, answer)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return pim.Account{
		Name: "work", Servers: pim.Servers{pim.IMAP: "imaps://" + raw.Addr().String()}, Address: "ada@example.org", CA: ca,
		Secret: func(context.Context) (string, error) { return Secret, nil },
	}
}

func serveIMAP(c net.Conn, hello string, answer func(tag, command string) string) {
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, hello); err != nil {
		return
	}
	for r := bufio.NewReader(c); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		tag, command, _ := strings.Cut(strings.TrimSpace(line), " ")
		said := answer(tag, command)
		if said == "" {
			return
		}
		for left := said; left != ""; left = left[min(len(left), 64<<10):] {
			if _, err := io.WriteString(c, left[:min(len(left), 64<<10)]); err != nil {
				return
			}
		}
	}
}
