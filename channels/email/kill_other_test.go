//go:build !unix

package email

import "testing"

func child() {}

func testKills(t *testing.T, _ servers) { t.Skip("there is no SIGKILL") }
