package osrun_test

import (
	"testing"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

func TestSelfScripts(t *testing.T) {
	osruntest.Check(t, osrun.SelfScripts()...)
	m := osruntest.NewMac(t, map[string]any{})
	if err := osrun.SelfTest(t.Context(), m, osrun.JavaScript); err != nil {
		t.Error(err)
	}
}
