package sound

import "hob/platform/osrun"

func newBackend(o Options) backend { return newFirst(osrun.Programs{Getenv: o.Getenv}) }
