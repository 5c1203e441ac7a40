// calls the host, which the simulator does not have; with AMD's device library
kernel void prints(global const float *x) { printf("%f\n", x[get_global_id(0)]); }
