// Images and samplers as OpenCL C passes them, with the device library: gpusim kernels build images.cl
constant sampler_t linear_edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

kernel void turned(read_only image2d_t picture, write_only image2d_t result, float cosine, float sine)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float x = at.x, y = at.y;
    write_imagef(result, at, read_imagef(picture, linear_edge, (float2)(cosine * x - sine * y, sine * x + cosine * y)));
}

// samples by the caller's sampler, then by one of the source that says the same
#define SAMPLED(name, coordinates, address, filter)                                                                    \
    kernel void name(read_only image2d_t picture, read_only image3d_t volume, sampler_t given, global const float4* at, \
                     global float4* result)                                                                            \
    {                                                                                                                  \
        const sampler_t own = CLK_NORMALIZED_COORDS_##coordinates | CLK_ADDRESS_##address | CLK_FILTER_##filter;       \
        size_t i = get_global_id(0), n = get_global_size(0);                                                           \
        result[i] = read_imagef(picture, given, at[i].xy);                                                             \
        result[n + i] = read_imagef(picture, own, at[i].xy);                                                           \
        result[2 * n + i] = read_imagef(volume, given, at[i]);                                                         \
        result[3 * n + i] = read_imagef(volume, own, at[i]);                                                           \
    }
SAMPLED(nearest_clamp, FALSE, CLAMP, NEAREST)
SAMPLED(linear_clamp, FALSE, CLAMP, LINEAR)
SAMPLED(nearest_clamp_to_edge, FALSE, CLAMP_TO_EDGE, NEAREST)
SAMPLED(linear_clamp_to_edge, FALSE, CLAMP_TO_EDGE, LINEAR)
SAMPLED(nearest_clamp_normalized, TRUE, CLAMP, NEAREST)
SAMPLED(linear_clamp_normalized, TRUE, CLAMP, LINEAR)
SAMPLED(nearest_clamp_to_edge_normalized, TRUE, CLAMP_TO_EDGE, NEAREST)
SAMPLED(linear_clamp_to_edge_normalized, TRUE, CLAMP_TO_EDGE, LINEAR)
SAMPLED(nearest_repeat_normalized, TRUE, REPEAT, NEAREST)
SAMPLED(linear_repeat_normalized, TRUE, REPEAT, LINEAR)
SAMPLED(nearest_mirrored_repeat_normalized, TRUE, MIRRORED_REPEAT, NEAREST)
SAMPLED(linear_mirrored_repeat_normalized, TRUE, MIRRORED_REPEAT, LINEAR)

kernel void sizes(read_only image1d_t line, read_only image2d_t picture, read_only image3d_t volume,
                  read_only image1d_array_t lines, read_only image2d_array_t pictures, global int* result)
{
    result[0] = get_image_width(line);
    result[1] = get_image_width(picture), result[2] = get_image_height(picture);
    result[3] = get_image_width(volume), result[4] = get_image_height(volume), result[5] = get_image_depth(volume);
    result[6] = get_image_width(lines), result[7] = get_image_array_size(lines);
    result[8] = get_image_width(pictures), result[9] = get_image_height(pictures);
    result[10] = get_image_array_size(pictures);
    result[11] = get_image_channel_data_type(line), result[12] = get_image_channel_order(line);
    result[13] = get_image_channel_data_type(picture), result[14] = get_image_channel_order(picture);
    result[15] = get_image_channel_data_type(volume), result[16] = get_image_channel_order(volume);
}

// each kind written and read, as whole numbers
kernel void doubled(read_only image1d_t line, read_only image1d_array_t lines, read_only image2d_array_t pictures,
                    read_only image3d_t volume, write_only image1d_t line2, write_only image1d_array_t lines2,
                    write_only image2d_array_t pictures2, write_only image3d_t volume2)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    int4 at = (int4)(x, y, z, 0);
    if (!y && !z) write_imageui(line2, x, 2 * read_imageui(line, x));
    if (!z) write_imageui(lines2, at.xy, 2 * read_imageui(lines, at.xy));
    write_imageui(pictures2, at, 2 * read_imageui(pictures, at));
    write_imageui(volume2, at, 2 * read_imageui(volume, at));
}

kernel void row_of_texels(read_only image1d_buffer_t row, global float4* result)
{
    result[get_global_id(0)] = read_imagef(row, (int)get_global_id(0));
}
