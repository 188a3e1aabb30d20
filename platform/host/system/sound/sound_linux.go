package sound

import "hob/platform/host/osrun"

func newBackend(o Options) backend { return newFirst(osrun.Programs{Getenv: o.Getenv}) }
