; out[i] = squares[i % 4] + cubes[i % 4], the tables reached through a table of pointers, the product through a call
target triple = "amdgcn-amd-amdhsa"

@squares = addrspace(4) constant [4 x i32] [i32 0, i32 1, i32 4, i32 9]
@cubes = internal addrspace(4) constant [4 x i32] [i32 0, i32 1, i32 8, i32 27]
@tables = internal addrspace(4) constant [2 x ptr addrspace(4)] [ptr addrspace(4) @squares, ptr addrspace(4) @cubes]
@scale = addrspace(1) global i32 3

declare i32 @llvm.amdgcn.workitem.id.x()

define i32 @scaled(i32 %x) noinline {
  %s = load volatile i32, ptr addrspace(1) @scale
  %r = mul i32 %x, %s
  ret i32 %r
}

define amdgpu_kernel void @look_up(ptr addrspace(1) %out) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %k = and i32 %i, 3
  %parity = and i32 %i, 1
  %which = getelementptr [2 x ptr addrspace(4)], ptr addrspace(4) @tables, i32 0, i32 %parity
  %table = load ptr addrspace(4), ptr addrspace(4) %which
  %entry = getelementptr i32, ptr addrspace(4) %table, i32 %k
  %a = load i32, ptr addrspace(4) %entry
  %other = getelementptr [4 x i32], ptr addrspace(4) @squares, i32 0, i32 %k
  %b = load i32, ptr addrspace(4) %other
  %sum = add i32 %a, %b
  %value = call i32 @scaled(i32 %sum)
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %value, ptr addrspace(1) %at
  ret void
}
