package app

import (
	"testing"

	"hob/autonomy/api"
	"hob/autonomy/api/apitest"
	"hob/autonomy/guard/pairing"
	"hob/cmd/hob/internal/channel"
)

// TestAPITypes checks that values have the same JSON in the API as before their conversion.
func TestAPITypes(t *testing.T) {
	apitest.SameJSON(t, func(x pairing.Pairing) api.Pairing { return api.Pairing(x) })
	apitest.SameJSON(t, func(x pairing.Code) api.PairingCode { return api.PairingCode(x) })
	apitest.SameJSON(t, func(x channel.Tested) api.ChannelTest { return api.ChannelTest(x) })
	apitest.SameJSON(t, apiFinding)
}
