//go:build !unix

package email

import "testing"

func runChild() {}

func testKills(t *testing.T, _ servers) { t.Skip("SIGKILL is not supported") }
