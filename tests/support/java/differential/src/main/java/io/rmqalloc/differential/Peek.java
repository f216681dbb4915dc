// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Fields and methods that releases name alike but do not show, or do not all have. */
final class Peek {
    private Peek() {
    }

    /** The value of a field; null if the class has none of that name. */
    static Object get(Object from, String name) {
        for (Class<?> kind = from.getClass(); kind != null; kind = kind.getSuperclass()) {
            try {
                Field field = kind.getDeclaredField(name);
                field.setAccessible(true);
                return field.get(from);
            } catch (NoSuchFieldException error) {
                continue;
            } catch (IllegalAccessException error) {
                throw new IllegalStateException(error);
            }
        }
        return null;
    }

    /** Changes the value of a field of just this class. */
    static void set(Object in, String name, Object value) {
        try {
            Field field = in.getClass().getDeclaredField(name);
            field.setAccessible(true);
            field.set(in, value);
        } catch (NoSuchFieldException | IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Calls the method of that name which takes such arguments; what it throws comes out as it is. */
    static Object call(Object on, String name, Object... arguments) throws Exception {
        for (Class<?> kind = on.getClass(); kind != null; kind = kind.getSuperclass()) {
            for (Method method : kind.getDeclaredMethods()) {
                if (method.getName().equals(name) && !method.isBridge() && takes(method, arguments)) {
                    return called(method, on, arguments);
                }
            }
        }
        throw new ClientHalf.DriverError(on.getClass() + " has no method " + name);
    }

    private static boolean takes(Method method, Object... arguments) {
        Class<?>[] types = method.getParameterTypes();
        boolean takes = types.length == arguments.length;
        for (int i = 0; takes && i < types.length; i++) {
            Class<?> type = MethodType.methodType(types[i]).wrap().returnType();
            takes = arguments[i] == null ? !types[i].isPrimitive() : type.isInstance(arguments[i]);
        }
        return takes;
    }

    /** Whether there is such a method. */
    static boolean has(Object on, String name) {
        for (Method method : on.getClass().getMethods()) {
            if (method.getName().equals(name)) {
                return true;
            }
        }
        return false;
    }

    private static Object called(Method method, Object on, Object... arguments) throws Exception {
        method.setAccessible(true);
        try {
            return method.invoke(on, arguments);
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw error;
        }
    }
}
