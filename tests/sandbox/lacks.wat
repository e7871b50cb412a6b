;; A module that does not say its name.
(module
  (memory (export "memory") 1)
  (func (export "openwop_abi_version") (result i32) (i32.const 1))
  (func (export "openwop_node_count") (result i32) (i32.const 1))
  (func (export "openwop_node_id_at") (param i32) (result i64) (i64.const 0x100000000))
  (func (export "openwop_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "openwop_free") (param i32 i32))
  (func (export "openwop_node_invoke") (param i32 i32 i32) (result i64) (i64.const 0)))
