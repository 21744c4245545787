package exec

/*
#include <stdint.h>
#include <stdlib.h>

extern void dtstoreBind(void *info);
extern void dtstoreInit(void *info);
extern void dtstoreLocalInit(void *info);
extern void dtstoreFill(void *info, void *chunk);
extern void dtstoreForget(void *data);
extern void dtstoreLive(void *info, void *chunk, void *result);
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"runtime/debug"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// hold puts a Go value where C can hold it: in C memory that holds a handle.
// forget frees both.
func hold(v any) unsafe.Pointer {
	p := C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0))))
	*(*cgo.Handle)(p) = cgo.NewHandle(v)
	return p
}

func held[T any](p unsafe.Pointer) T { return (*(*cgo.Handle)(p)).Value().(T) }

func forget(p unsafe.Pointer) {
	h := *(*cgo.Handle)(p)
	if s, ok := h.Value().(*scan); ok {
		s.source.Close()
	}
	h.Delete()
	C.free(p)
}

// registerRows makes the table function dt_rows(id).
func (e *Engine) registerRows(c *conn) error {
	f := duckdb.CreateTableFunction()
	defer duckdb.DestroyTableFunction(&f)
	duckdb.TableFunctionSetName(f, rowsFunction)
	bigint := duckdb.CreateLogicalType(duckdb.TypeBigInt)
	defer duckdb.DestroyLogicalType(&bigint)
	duckdb.TableFunctionAddParameter(f, bigint)
	duckdb.TableFunctionSetExtraInfo(f, e.extra, nil)
	duckdb.TableFunctionSetBind(f, C.dtstoreBind)
	duckdb.TableFunctionSetInit(f, C.dtstoreInit)
	duckdb.TableFunctionSetLocalInit(f, C.dtstoreLocalInit)
	duckdb.TableFunctionSetFunction(f, C.dtstoreFill)
	duckdb.TableFunctionSupportsProjectionPushdown(f, true)
	if duckdb.RegisterTableFunction(c.c, f) != duckdb.StateSuccess {
		return errors.New("register table function " + rowsFunction)
	}
	return nil
}

// registerLive makes the function dt_live(id, file_index, file_row_number).
func (e *Engine) registerLive(c *conn) error {
	f := duckdb.CreateScalarFunction()
	defer duckdb.DestroyScalarFunction(&f)
	duckdb.ScalarFunctionSetName(f, liveFunction)
	for _, id := range []duckdb.Type{duckdb.TypeBigInt, duckdb.TypeUBigInt, duckdb.TypeBigInt} {
		t := duckdb.CreateLogicalType(id)
		duckdb.ScalarFunctionAddParameter(f, t)
		duckdb.DestroyLogicalType(&t)
	}
	boolean := duckdb.CreateLogicalType(duckdb.TypeBoolean)
	defer duckdb.DestroyLogicalType(&boolean)
	duckdb.ScalarFunctionSetReturnType(f, boolean)
	duckdb.ScalarFunctionSetExtraInfo(f, e.extra, nil)
	duckdb.ScalarFunctionSetFunction(f, C.dtstoreLive)
	if duckdb.RegisterScalarFunction(c.c, f) != duckdb.StateSuccess {
		return errors.New("register function " + liveFunction)
	}
	return nil
}

// freeRows runs after the database is closed, when nothing calls back any more.
func (e *Engine) freeRows() {
	if e.extra != nil {
		forget(e.extra)
		e.extra = nil
	}
}

// guard turns a panic in a callback into an error: it must not unwind into C++.
func guard(report func(string)) {
	if r := recover(); r != nil {
		report(sourceMessage(fmt.Errorf("panic in a table function: %v %s", r, debug.Stack())))
	}
}

//export dtstoreBind
func dtstoreBind(p unsafe.Pointer) {
	info := duckdb.BindInfo{Ptr: p}
	defer guard(func(s string) { duckdb.BindSetError(info, s) })
	e := held[*Engine](duckdb.BindGetExtraInfo(info))
	v := duckdb.BindGetParameter(info, 0)
	id := duckdb.GetInt64(v)
	duckdb.DestroyValue(&v)
	r, ok := e.relations.Load(id)
	if !ok {
		duckdb.BindSetError(info, markCode("55000", "a relation of this statement is closed"))
		return
	}
	rel, ok := r.(*relation)
	if !ok {
		duckdb.BindSetError(info, markCode("XX000", "not a relation of rows"))
		return
	}
	for i, c := range rel.Columns {
		t := rel.types[i].logical()
		duckdb.BindAddResultColumn(info, c.Name, t)
		duckdb.DestroyLogicalType(&t)
	}
	if rel.Rows > 0 {
		duckdb.BindSetCardinality(info, duckdb.IdxT(rel.Rows), false)
	}
	duckdb.BindSetBindData(info, hold(rel), C.dtstoreForget)
}

//export dtstoreInit
func dtstoreInit(p unsafe.Pointer) {
	info := duckdb.InitInfo{Ptr: p}
	defer guard(func(s string) { duckdb.InitSetError(info, s) })
	rel := held[*relation](duckdb.InitGetBindData(info))
	projection := make([]int, 0, len(rel.Columns))
	for i := range duckdb.InitGetColumnCount(info) {
		projection = append(projection, int(duckdb.InitGetColumnIndex(info, i)))
	}
	for i, c := range projection {
		if c < 0 || c >= len(rel.Columns) { // not a column: what count(*) asks for
			projection[i] = none
		}
	}
	s, err := openScan(rel, projection)
	if err != nil {
		duckdb.InitSetError(info, sourceMessage(err))
		return
	}
	duckdb.InitSetMaxThreads(info, duckdb.IdxT(max(rel.Threads, 1)))
	duckdb.InitSetInitData(info, hold(s), C.dtstoreForget)
}

//export dtstoreLocalInit
func dtstoreLocalInit(p unsafe.Pointer) {
	info := duckdb.InitInfo{Ptr: p}
	defer guard(func(s string) { duckdb.InitSetError(info, s) })
	duckdb.InitSetInitData(info, hold(&cursor{}), C.dtstoreForget)
}

//export dtstoreFill
func dtstoreFill(p, chunk unsafe.Pointer) {
	info := duckdb.FunctionInfo{Ptr: p}
	defer guard(func(s string) { duckdb.FunctionSetError(info, s) })
	s := held[*scan](duckdb.FunctionGetInitData(info))
	c := held[*cursor](duckdb.FunctionGetLocalInitData(info))
	if err := s.fill(c, duckdb.DataChunk{Ptr: chunk}); err != nil {
		duckdb.FunctionSetError(info, sourceMessage(err))
	}
}

//export dtstoreForget
func dtstoreForget(p unsafe.Pointer) { forget(p) }

//export dtstoreLive
func dtstoreLive(p, chunk, result unsafe.Pointer) {
	info := duckdb.FunctionInfo{Ptr: p}
	defer guard(func(s string) { duckdb.ScalarFunctionSetError(info, s) })
	e := held[*Engine](duckdb.ScalarFunctionGetExtraInfo(info))
	if err := e.fillLive(duckdb.DataChunk{Ptr: chunk}, duckdb.Vector{Ptr: result}); err != nil {
		duckdb.ScalarFunctionSetError(info, sourceMessage(err))
	}
}
