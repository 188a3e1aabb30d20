package system

import (
	"net"
	"os"
	"testing"
)

func TestClientBelow(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	client := c.LocalAddr().String()
	for name, x := range map[string]struct {
		roots []int
		want  bool
	}{
		"itself":        {[]int{os.Getpid()}, true},
		"its parent":    {[]int{os.Getppid()}, true},
		"somebody else": {[]int{1 << 30}, false},
		"nobody":        {nil, false},
	} {
		if got, err := ClientBelow(client, x.roots); err != nil || got != x.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := ClientBelow("192.0.2.1:1", []int{os.Getpid()}); err != nil || got {
		t.Errorf("a connection from another machine: %v, %v", got, err)
	}
	c.Close()
	if got, err := ClientBelow(client, []int{os.Getpid()}); err == nil {
		t.Errorf("a client that has gone: %v, and no error", got)
	}
	if _, err := ClientBelow("in-process", []int{1}); err == nil {
		t.Error("no address, and no error")
	}
}

func TestProcAddr(t *testing.T) {
	for in, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"0000000000000000FFFF00000100007F:0050": "127.0.0.1:80",
		"00000000000000000000000001000000:0016": "[::1]:22",
	} {
		if got := procAddr(in).String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"", "zz:1", "0100007F", "0100007F:zz", "01:1"} {
		if got := procAddr(in); got.IsValid() {
			t.Errorf("%q: %s", in, got)
		}
	}
}
