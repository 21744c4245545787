package catalog

import (
	"errors"

	"dtstore/objstore"
)

// Gone says whether an error comes from a file that is not there any more: a
// snapshot was expired, or a table dropped, while somebody read it.
func Gone(err error) bool { return errors.Is(err, objstore.ErrNotExist) }
