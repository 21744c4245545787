// Package s3 is the objstore.Store in a bucket of an S3 service.
//
// [Open] gives a store whose keys lie below a prefix of the bucket. Credentials
// come from the AWS SDK's usual chain (environment, shared files, the machine's
// role) and show up in no error.
//
// Put-if-absent is a PUT with "If-None-Match: *". Its answers, and what is
// concluded:
//
//	200                  won
//	412                  lost, unless an earlier try of this very call won and
//	                     only its answer was lost: each call marks its object
//	                     with a random id in the metadata, and looks
//	409                  a conflicting put is in flight: nothing was written by
//	                     this try; pause and try again
//	5xx, time-out, reset unknown: try again, it cannot overwrite anything
//
// When the tries are used up the outcome is unknown and the error is not
// ErrExist. The SDK's own retries are off for this call: behind its back they
// turn a won put whose answer was lost into a lost one.
package s3
